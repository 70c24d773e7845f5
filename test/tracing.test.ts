import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { startCollector } from './collector-fixture.ts'
import { startService } from './service-fixture.ts'
import { callOf, fakeTool, gatedTool } from './service-tools.ts'

const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const span = '00f067aa0ba902b7'

test('Traces: a run is a span in its caller’s trace, with its model calls and steps in it', async (t) => {
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
  assert.deepEqual([run.traceId, run.parentSpanId, run.status], [trace, span, { code: 0 }])
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

test('Traces: what was said is in them only where that is asked for', async (t) => {
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
  // A caller without a span of its own, or with one that is none, begins a trace.
  assert.equal(run?.parentSpanId, undefined)
})

test('Traces: a run that fails, and one that is cancelled, say so', async (t) => {
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
})

test('Traces: a collector that never answers disturbs no run, and holds the end for two seconds at most', async (t) => {
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

test('Traces: what a sub-agent does stands under the call in which it runs', async (t) => {
  const collector = await startCollector(t)
  const usage = { model: 'inner-1', input: 1, output: 1, cachedInput: 0, reasoning: 0 }
  const step = { id: 'inner-call', type: 'tool_call' as const, tool: 'add', input: {}, startedAt: Date.now(), subAgent: 'helper' }
  const asked = { role: 'assistant' as const, text: '', toolCalls: [{ id: step.id, name: 'add', arguments: '{}' }] }
  const result = { role: 'tool' as const, callId: step.id, name: 'add', text: '3', isError: false }
  const helper = fakeTool(
    'helper',
    async (_input, { callId, inner }) => {
      const nested = { type: 'nested', callId, subAgent: 'helper' } as const
      await inner!.tell({
        ...nested,
        event: { type: 'turn', message: asked, usage, finish: 'tool_calls', startedAt: step.startedAt, endedAt: step.startedAt + 5 },
      })
      await inner!.tell({ type: 'step_start', step })
      const ended = { ...step, log: 'Done.', output: 3, status: 'success' as const, durationMs: 7 }
      await inner!.tell({ ...nested, event: { type: 'result', message: result, effect: 'read', step: ended } })
      return 'three'
    },
    { shownAs: { type: 'sub_agent_call', tool: 'sub_agent:helper' } },
  )
  const service = await startService(t, {
    tools: [helper],
    script: [callOf('helper'), { text: 'three' }],
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  })
  await service.client.chat('go')
  await service.close(1000)
  const [run] = collector.named('invoke_agent Agent Core')
  const [call] = collector.named('execute_tool sub_agent:helper')
  assert.equal(call?.parentSpanId, run?.spanId)
  const [chat] = collector.named('chat inner-1')
  const [add] = collector.named('execute_tool add')
  assert.deepEqual([chat?.parentSpanId, chat?.took], [call?.spanId, 5])
  assert.deepEqual([add?.parentSpanId, add?.took, add?.attributes['gen_ai.agent.name']], [call?.spanId, 7, 'helper'])
  assert.equal(collector.spans.length, 6)
})

test('Traces: a call of an MCP server’s tool says so, and where the server is', async (t) => {
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
