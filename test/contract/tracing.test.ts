import assert from 'node:assert/strict'
import { createServer as createHttpServer, type IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { startCollector } from '../fixtures/collector.ts'
import { startModelServer, type ModelServerRequest } from '../fixtures/model-server.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'

const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const span = '00f067aa0ba902b7'

test('Traces: a run is a span in its caller’s trace, with child spans for model calls and steps', async (t) => {
  const collector = await startCollector(t)
  const add = fakeTool('add', async ({ a }) => {
    if (a === 0) throw new Error('secret reason')
    return { sum: 1 }
  })
  const service = await startService(t, {
    tools: [add],
    script: [
      { calls: [...callOf('add', { a: 1 }).calls, ...callOf('add', { a: 0 }).calls], usage: { input: 20, output: 5, cached: 8 } },
      { text: 'secret answer', usage: { input: 30, output: 7, reasoning: 3 } },
    ],
    config: { id: 'helper-1', name: 'Helper' },
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`, OTEL_SERVICE_NAME: 'helpers' },
  })
  const headers = { traceparent: `00-${trace}-${span}-01`, 'session-id': 's', 'request-id': 'r' }
  assert.equal((await service.client.chat('secret question', headers)).status, 200)
  await service.close(1000)

  assert.deepEqual([collector.resource['service.name'], collector.resource['service.version']], ['helpers', '0.0.0'])
  const [run] = collector.named('invoke_agent Helper')
  assert.ok(run)
  assert.deepEqual(
    { traceId: run.traceId, parentSpanId: run.parentSpanId, status: run.status },
    { traceId: trace, parentSpanId: span, status: { code: 0 } },
  )
  const { 'gen_ai.agent.version': version, ...told } = run.attributes
  assert.equal(typeof version, 'string')
  assert.deepEqual(told, {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.id': 'helper-1',
    'gen_ai.agent.name': 'Helper',
    'gen_ai.conversation.id': 's',
    'gen_ai.provider.name': 'openai-compatible',
    'gen_ai.request.model': 'scripted',
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.usage.input_tokens': 50,
    'gen_ai.usage.output_tokens': 12,
    'gen_ai.usage.cache_read.input_tokens': 8,
    'gen_ai.usage.reasoning.output_tokens': 3,
    'agent_core.request_id': 'r',
    'agent_core.tenant': 'default',
    'agent_core.operation': 'chain',
    'agent_core.attempt': 1,
  })
  const chats = collector.named('chat scripted')
  assert.deepEqual(
    chats.map(({ attributes, parentSpanId }) => [
      parentSpanId,
      attributes['gen_ai.usage.input_tokens'],
      attributes['gen_ai.usage.cache_read.input_tokens'],
      attributes['gen_ai.response.finish_reasons'],
    ]),
    [
      [run.spanId, 20, 8, ['tool_calls']],
      [run.spanId, 30, 0, ['stop']],
    ],
  )
  const steps = collector.named('execute_tool add')
  const failed = steps.find(({ attributes }) => attributes['error.type'] === 'tool_error')
  assert.equal(steps.length, 2)
  assert.ok(steps.every(({ parentSpanId, traceId }) => parentSpanId === run.spanId && traceId === trace))
  assert.equal(failed?.status.code, 2)
  assert.match(String(failed?.attributes['gen_ai.tool.call.id']), /^[0-9a-f-]{36}$/)
  assert.doesNotMatch(JSON.stringify(collector.spans), /secret/)
})

test('Traces: message texts are recorded only when enabled', async (t) => {
  const collector = await startCollector(t)
  const service = await startService(t, {
    tools: [fakeTool('add', async () => ({ sum: 3 }))],
    script: [callOf('add', { a: 1 }), { text: 'three' }],
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' },
  })
  await service.client.chat('add it')
  await service.close(1000)
  const [run] = collector.named('invoke_agent Agent Core')
  const read = (name: string) => JSON.parse(String(run?.attributes[name])) as unknown
  assert.deepEqual(read('gen_ai.input.messages'), [{ role: 'user', parts: [{ type: 'text', content: 'add it' }] }])
  assert.deepEqual(read('gen_ai.output.messages'), [
    { role: 'assistant', parts: [{ type: 'text', content: 'three' }], finish_reason: 'stop' },
  ])
  const [step] = collector.named('execute_tool add')
  assert.deepEqual([step?.attributes['gen_ai.tool.call.arguments'], step?.attributes['gen_ai.tool.call.result']], ['{"a":1}', '{"sum":3}'])
  const [first, second] = collector.named('chat scripted')
  const asked = { role: 'user', parts: [{ type: 'text', content: 'add it' }] }
  assert.deepEqual(JSON.parse(String(first?.attributes['gen_ai.input.messages'])), [asked])
  const [question, call, result] = JSON.parse(String(second?.attributes['gen_ai.input.messages'])) as { role: string; parts: any[] }[]
  assert.deepEqual([question, call?.role, result?.role], [asked, 'assistant', 'tool'])
  assert.deepEqual({ type: call?.parts[0].type, arguments: call?.parts[0].arguments }, { type: 'tool_call', arguments: '{"a":1}' })
  assert.deepEqual(result?.parts, [{ type: 'tool_call_response', id: call?.parts[0].id, response: '{"sum":3}' }])
  assert.match(String(first?.attributes['gen_ai.output.messages']), /"tool_call","name":"add"/)
  // A caller without a valid span starts a new trace.
  assert.equal(run?.parentSpanId, undefined)
})

test('Traces: failed and cancelled runs have their status', async (t) => {
  const collector = await startCollector(t)
  const gate = gatedTool('wait')
  const service = await startService(t, {
    tools: [gate.tool],
    script: [{ status: 400, body: {} }, callOf('wait')],
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  })
  assert.equal((await service.client.chat('go', { 'request-id': 'r1', traceparent: 'nonsense' })).status, 502)
  const cancelled = service.client.chat('go', { 'request-id': 'r2' })
  await gate.entered
  await service.client.request('DELETE', '/core/v1/runs/r2')
  assert.equal((await cancelled).status, 409)
  await service.close(1000)
  const runs = collector.named('invoke_agent Agent Core')
  const of = (id: string) => runs.find(({ attributes }) => attributes['agent_core.request_id'] === id)
  assert.deepEqual([of('r1')?.status.code, of('r1')?.attributes['error.type']], [2, 'ModelUnavailable'])
  assert.deepEqual([of('r2')?.status.code, of('r2')?.attributes['gen_ai.response.finish_reasons']], [0, ['cancelled']])
  assert.equal(collector.named('execute_tool wait')[0]?.attributes['error.type'], 'tool_error')
  const [refused] = collector.named('chat scripted').filter(({ parentSpanId }) => parentSpanId === of('r1')?.spanId)
  assert.deepEqual([refused?.status.code, refused?.attributes['error.type']], [2, 'refused'])
  assert.deepEqual([refused?.attributes['gen_ai.request.model'], refused?.attributes['gen_ai.usage.input_tokens']], ['scripted', undefined])
})

test('Traces: each attempt at a model is a span, with its error and its server, also of a fallback model', async (t) => {
  const collector = await startCollector(t)
  const model = await startModelServer([
    { status: 500, body: {} },
    { status: 401, body: {} },
    { text: 'fine', usage: { input: 3, output: 1 } },
  ])
  t.after(() => model.close())
  const entry = (name: string) => ({ provider: 'openai-compatible', model: name, base_url: `${model.url}/v1` })
  const service = await startService(t, {
    config: { llms: { primary: entry('first'), fallback: [entry('second')] } },
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  })
  assert.equal((await service.client.chat('go')).status, 200)
  await service.close(1000)
  const spans = collector.spans.filter(({ name }) => name.startsWith('chat '))
  const { hostname, port } = new URL(model.url)
  assert.deepEqual(
    spans.map(({ name, kind, status, attributes }) => [
      ...[name, kind, status.code ?? 0, attributes['error.type'], attributes['agent_core.model.attempt']],
      ...[attributes['server.address'], attributes['server.port'], attributes['gen_ai.usage.input_tokens']],
    ]),
    [
      ['chat first', 3, 2, 'unavailable', 1, hostname, Number(port), undefined],
      ['chat first', 3, 2, 'unauthorized', 2, hostname, Number(port), undefined],
      ['chat second', 3, 0, undefined, 3, hostname, Number(port), 3],
    ],
  )
  const [run] = collector.named('invoke_agent Agent Core')
  assert.deepEqual(
    model.requests.map(({ headers }) => headers['traceparent']),
    spans.map(({ spanId }) => `00-${run?.traceId}-${spanId}-01`),
  )
})

test('Traces: a model call of a disconnected caller ends as cancelled', async (t) => {
  const collector = await startCollector(t)
  const service = await startService(t, { script: { silentAfter: 0 }, environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } })
  const cancelled = service.client.chat('go', { 'request-id': 'r' })
  while (service.model.requests.length === 0) await wait(10)
  await service.client.request('DELETE', '/core/v1/runs/r')
  assert.equal((await cancelled).status, 409)
  await service.close(1000)
  const [chat] = collector.named('chat scripted')
  assert.deepEqual([chat?.status.code, chat?.attributes['error.type']], [2, 'cancelled'])
})

/** A site with an operation `getA` of an OpenAPI document, which keeps the headers of its requests. */
async function startApi(t: TestContext) {
  const headers: IncomingHttpHeaders[] = []
  const server = createHttpServer((request, response) => {
    if (request.url !== '/openapi.json') headers.push(request.headers)
    const document = { openapi: '3.0.0', paths: { '/a': { get: { operationId: 'getA', parameters: [asked] } } } }
    response.setHeader('content-type', 'application/json').end(request.url === '/openapi.json' ? JSON.stringify(document) : '{}')
  }).listen(0, '127.0.0.1')
  const asked = { name: 'traceparent', in: 'header', schema: { type: 'string' } }
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { headers, spec: `http://127.0.0.1:${(server.address() as AddressInfo).port}/openapi.json` }
}

test('Traces: an OpenAPI tool receives the span of its call', async (t) => {
  const [collector, api] = await Promise.all([startCollector(t), startApi(t)])
  const service = await startService(t, {
    script: [callOf('api__getA', {}), { text: 'ok' }],
    config: { tools: [{ name: 'api', type: 'openapi', config: { spec: api.spec } }] },
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  })
  const headers = { traceparent: `00-${trace}-${span}-01`, 'stix-user': 'ann' }
  assert.equal((await service.client.chat('go', headers)).status, 200)
  await service.close(1000)
  const [step] = collector.named('execute_tool api__getA')
  assert.equal(step?.traceId, trace)
  assert.deepEqual([api.headers[0]?.['traceparent'], api.headers[0]?.['stix-user']], [`00-${trace}-${step?.spanId}-01`, 'ann'])
})

test('Traces: without a collector the caller’s trace is forwarded to models and tools unchanged; without a trace no traceparent is sent', async (t) => {
  const api = await startApi(t)
  const service = await startService(t, {
    script: (_, index) => (index % 2 === 0 ? callOf('api__getA', {}) : { text: 'ok' }),
    config: { tools: [{ name: 'api', type: 'openapi', config: { spec: api.spec } }] },
  })
  const traceparent = `00-${trace}-${span}-01`
  assert.equal((await service.client.chat('go', { traceparent })).status, 200)
  assert.deepEqual(
    [...service.model.requests, ...api.headers.map((headers) => ({ headers }))].map(({ headers }) => headers['traceparent']),
    [traceparent, traceparent, traceparent],
  )
  assert.equal((await service.client.chat('go')).status, 200)
  assert.deepEqual([service.model.requests[2]?.headers['traceparent'], api.headers[1]?.['traceparent']], [undefined, undefined])
})

test('Traces: a collector that never answers disturbs no run, and delays the stop by two seconds at most', async (t) => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1')
  t.after(() => silent.close())
  await new Promise((resolve) => silent.once('listening', resolve))
  const endpoint = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const service = await startService(t, { script: { text: 'fine' }, environment: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } })
  for (let turn = 0; turn < 5; turn++) assert.equal((await service.client.chat('go')).status, 200)
  const from = Date.now()
  await service.close(1000)
  assert.ok(Date.now() - from < 4000)
})

test('Traces: spans of a sub-agent are children of the call that runs it', async (t) => {
  const collector = await startCollector(t)
  const isInner = ({ body }: ModelServerRequest) => String(body.messages[0].content).includes('You are the sub-agent')
  const hasResult = ({ body }: ModelServerRequest) => body.messages.at(-1).role === 'tool'
  const service = await startService(t, {
    tools: [fakeTool('add', async () => 3)],
    script: (request) => {
      if (hasResult(request)) return { text: 'three' }
      return isInner(request) ? callOf('add') : callOf('sub_agent_helper', { task: 'Add.' })
    },
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  })
  const body = { name: 'helper', description: 'Adds.', objective: 'Add.', tools: ['add'] }
  assert.equal((await service.client.request('POST', '/core/v1/chain/sub_agents', { body })).status, 200)
  assert.equal((await service.client.chat('go')).status, 200)
  await service.close(1000)
  const [run] = collector.named('invoke_agent Agent Core')
  const [call] = collector.named('execute_tool sub_agent:helper')
  assert.equal(call?.parentSpanId, run?.spanId)
  const chats = collector.named('chat scripted').map(({ parentSpanId }) => parentSpanId)
  assert.deepEqual(chats, [run?.spanId, call?.spanId, call?.spanId, run?.spanId])
  const [add] = collector.named('execute_tool add')
  assert.deepEqual([add?.parentSpanId, add?.attributes['gen_ai.agent.name']], [call?.spanId, 'helper'])
  assert.equal(collector.spans.length, 7)
  // Each model server receives the span of its attempt.
  const parents = service.model.requests.map(({ headers }) => String(headers['traceparent']).split('-')[2])
  const spans = collector.named('chat scripted').map(({ spanId }) => spanId)
  assert.deepEqual(parents, spans)
})

test('Traces: a call of an MCP tool records the tool and its server', async (t) => {
  const collector = await startCollector(t)
  const tools = ['remote__a', 'hidden__a', 'local__a', 'api__a'].map((name) => fakeTool(name, async () => 'x'))
  const entries = [
    { name: 'remote', type: 'mcp', config: { url: 'http://me:secret@127.0.0.1:1/mcp?token=secret' } },
    { name: 'hidden', type: 'mcp', config: { url: 'http://${HOST_OF_MINE}/mcp' } },
    { name: 'local', type: 'mcp', config: { command: 'no-such-command' } },
    { name: 'api', type: 'openapi', config: { spec: 'missing.yaml' } },
  ]
  const service = await startService(t, {
    tools,
    script: [{ calls: tools.flatMap(({ name }) => callOf(name).calls) }, { text: 'ok' }],
    config: { tools: entries },
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  })
  assert.equal((await service.client.chat('Go.')).status, 200)
  await service.close(1000)
  const of = (name: string) => {
    const { attributes } = collector.named(`execute_tool ${name}`)[0]!
    assert.doesNotMatch(JSON.stringify(attributes), /secret/)
    return ['agent_core.tool.entry', 'mcp.method.name', 'network.transport', 'server.address'].map((key) => attributes[key])
  }
  assert.deepEqual(
    tools.map(({ name }) => of(name)),
    [
      ['remote', 'tools/call', 'tcp', '127.0.0.1'],
      ['hidden', 'tools/call', 'tcp', undefined],
      ['local', 'tools/call', 'pipe', undefined],
      ['api', undefined, undefined, undefined],
    ],
  )
})
