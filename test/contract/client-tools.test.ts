import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { callsIn, cancel, decide, sending, sendTo } from '../fixtures/approvals.ts'
import { event, sendEvent, until } from '../fixtures/async-client.ts'
import { startReceiver } from '../fixtures/callback-receiver.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import type { Client, Reply } from '../fixtures/service-client.ts'
import { startService, type ServiceOptions } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const place = {
  name: 'get_place',
  description: 'The place of the device.',
  schema: { type: 'object', properties: { precision: { type: 'integer' } }, required: ['precision'], additionalProperties: false },
}
const question = { messages: [{ role: 'user', content: 'Where am I?' }], client_tools: [place] }
const look = fakeTool('look', async () => 'seen')

/** Calls the client's tool first, then answers with all results. */
function script({ body }: ModelServerRequest) {
  const results = body.messages.filter(({ role }: { role: string }) => role === 'tool').map(({ content }: { content: string }) => content)
  if (results.length > 0) return { text: `Results: ${results.join(', ')}.` }
  return { text: 'I look it up.', calls: [...callOf('get_place', { precision: 3 }).calls, ...callOf('look').calls] }
}

const start = (t: TestContext, options: ServiceOptions = {}) => startService(t, { script, tools: [look], ...options })
const clientCalls = ({ body }: Reply): { tool_call_id: string; tool: string; tool_input: unknown }[] => body.client_tool_calls.calls
const answer = (client: Client, requestId: string, callId: string, output: unknown) =>
  decide(client, requestId, callId, { decision: 'output', output })

test('Client tools: the model calls them beside its own tools, the run waits, and goes on with the output', async (t) => {
  const { client, model } = await start(t)
  const ids = { 'request-id': 'r1', 'session-id': 's1' }
  const waiting = await client.chat(question, ids)
  assert.equal(waiting.status, 202, waiting.text)
  const [call] = clientCalls(waiting)
  assert.deepEqual(waiting.body.client_tool_calls, {
    request_id: 'r1',
    calls: [{ tool_call_id: call!.tool_call_id, tool: 'get_place', tool_input: { precision: 3 } }],
  })
  assert.equal(waiting.body.approval_required, undefined)
  assert.deepEqual(
    waiting.body.body.intermediate_steps.map((step: { tool: string }) => step.tool),
    ['look'],
  )
  const offered = model.requests[0]!.body.tools.map((tool: { function: object }) => tool.function)
  assert.deepEqual(
    offered.find(({ name }: { name: string }) => name === 'get_place'),
    { name: place.name, description: place.description, parameters: place.schema },
  )
  const run = await client.run('r1')
  assert.deepEqual([run.body.status, run.body.client_tool_calls], ['interrupted', waiting.body.client_tool_calls])
  assert.deepEqual((await client.request('GET', '/core/v1/approvals')).body.approvals, [], 'nobody approves the call')
  assert.equal((await client.chat('Next.', { 'session-id': 's1' })).body.details.error_type, 'SessionInterrupted')
  const decided = await answer(client, 'r1', call!.tool_call_id, { city: 'Basel' })
  assert.equal(decided.status, 200, decided.text)
  const ended = await client.chat(question, ids)
  assert.equal(ended.body.body.output, 'Results: {"city":"Basel"}, seen.')
  const step = ended.body.body.intermediate_steps.find(({ tool }: { tool: string }) => tool === 'get_place')
  assert.deepEqual(
    { type: step.type, input: step.tool_input, output: step.output, status: step.status },
    { type: 'tool_call', input: { precision: 3 }, output: { city: 'Basel' }, status: 'success' },
  )
  assert.ok(ended.body.body.usage.some(({ costAttribute }: { costAttribute: string }) => costAttribute === 'tool:get_place'))
  assert.equal((await answer(client, 'r1', call!.tool_call_id, { city: 'Basel' })).status, 200, 'the same output once more')
  assert.equal((await answer(client, 'r1', call!.tool_call_id, 'other')).body.details.error_type, 'AlreadyDecided')
  const trace = await client.request('GET', '/core/v1/runs/r1/trace')
  const span = trace.body.spans.find(({ id }: { id: string }) => id === call!.tool_call_id)
  assert.deepEqual([span.kind, span.name, span.attributes.effect], ['tool', 'get_place', 'write'])
  const wait = trace.body.spans.find(({ kind }: { kind: string }) => kind === 'wait')
  assert.deepEqual(wait.attributes, { for: 'client_tool' })
})

test('Client tools: the embedded model calls them without asking first', async (t) => {
  const { client } = await startService(t, { config: { llms: { primary: { provider: 'embedded', model: 'rules-1' } } } })
  const weather = {
    name: 'get_weather',
    description: 'The weather in a city.',
    schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  }
  const waiting = await client.chat({ messages: [{ role: 'user', content: 'What is the weather in Basel?' }], client_tools: [weather] })
  assert.deepEqual([waiting.status, clientCalls(waiting)[0]?.tool_input], [202, { city: 'Basel' }], waiting.text)
})

test('Client tools: what a request may not bring is refused with its place', async (t) => {
  const { client } = await start(t)
  const faults = [
    [{ ...place, name: 'look' }, ['body', 'client_tools', 0, 'name']],
    [{ ...place, name: 'find_tools' }, ['body', 'client_tools', 0, 'name']],
    [{ ...place, name: 'not a name' }, ['body', 'client_tools', 0, 'name']],
    [{ ...place, schema: { type: 'string' } }, ['body', 'client_tools', 0, 'schema', 'type']],
    [{ name: 'get_place', parameters: { type: 'object' } }, ['body', 'client_tools', 0, 'parameters']],
    [{ ...place, schema: { properties: { a: { type: 'nothing' } } } }, ['body', 'client_tools', 0, 'schema']],
    [{ ...place, schema: { $ref: '#/$defs/none' } }, ['body', 'client_tools', 0, 'schema']],
  ] as const
  for (const [tool, loc] of faults) {
    const refused = await client.chat({ ...question, client_tools: [tool] })
    assert.deepEqual([refused.status, refused.body.details?.errors?.[0]?.loc], [422, loc], refused.text)
  }
  const twice = await client.chat({ ...question, client_tools: [place, place] })
  assert.deepEqual(twice.body.details.errors[0].loc, ['body', 'client_tools', 1, 'name'])
  const event1 = await sendEvent(client, event('e', { ...question, client_tools: [{ ...place, name: 'look' }] }))
  assert.deepEqual(event1.body.detail[0].loc, ['body', 'data', 'client_tools', 0, 'name'])
  const ids = { 'request-id': 'same' }
  await client.chat(question, ids)
  const other = await client.chat({ ...question, client_tools: [{ ...place, description: 'Another.' }] }, ids)
  assert.equal(other.body.details.error_type, 'RequestIdReused', 'the tools are part of the request')
})

test('Client tools: only the owner answers, with output or error, and the model is shown a failure', async (t) => {
  const { client, as } = await start(t)
  const ids = { 'request-id': 'r1' }
  const [call] = clientCalls(await client.chat(question, ids))
  const id = call!.tool_call_id
  const admin = await as({ sub: 'root', roles: ['admin'] })
  assert.equal((await answer(admin, 'r1', id, 'x')).status, 404)
  const reader = await as({ sub: 'tester', roles: ['viewer'] })
  assert.equal((await answer(reader, 'r1', id, 'x')).status, 403)
  for (const body of [
    { decision: 'approve' },
    { decision: 'output' },
    { decision: 'error' },
    { decision: 'output', output: 1, error: 'x' },
  ]) {
    assert.equal((await decide(client, 'r1', id, body)).status, 422, JSON.stringify(body))
  }
  assert.equal((await decide(client, 'r1', id, { decision: 'error', error: 'No signal.' })).status, 200)
  const ended = await client.chat(question, ids)
  assert.equal(ended.body.body.output, 'Results: No signal., seen.')
  const step = ended.body.body.intermediate_steps.find(({ tool }: { tool: string }) => tool === 'get_place')
  assert.deepEqual([step.status, step.output], ['error', { error: 'No signal.' }])
})

test('Client tools: long output is cut for the model, wrong arguments never reach the client', async (t) => {
  const turns = [callOf('get_place', { precision: 'high' }), callOf('get_place', { precision: 1 }), { text: 'Done.' }]
  const { client, model } = await start(t, { script: turns })
  const waiting = await client.chat(question, { 'request-id': 'r1' })
  assert.match(model.requests[1]!.body.messages.at(-1).content, /precision must be integer/)
  await answer(client, 'r1', clientCalls(waiting)[0]!.tool_call_id, 'x'.repeat(30_000))
  await client.chat(question, { 'request-id': 'r1' })
  const { content } = model.requests[2]!.body.messages.at(-1)
  assert.match(content, /^x{20000}\n\[cut: 10000 of 30000 characters left out\]$/)
})

test('Client tools: a stream ends with the calls, and with an approval while one is open too', async (t) => {
  const { tool } = sending()
  const both = { calls: [...callOf('get_place', { precision: 3 }).calls, ...sendTo('Bob').calls] }
  const { client } = await start(t, {
    tools: [tool],
    script: [callOf('get_place', { precision: 3 }), { text: 'A.' }, both, { text: 'B.' }],
  })
  const first = (await (await client.stream(question, { 'request-id': 'r1' })).rest()).at(-1)!.chunk
  assert.deepEqual(
    [first.finish_reason, first.client_tool_calls?.calls[0]?.tool, first.approval_required],
    ['tool_calls', 'get_place', undefined],
  )
  await answer(client, 'r1', first.client_tool_calls!.calls[0]!.tool_call_id, 'here')
  const rest = await (await client.follow('r1')).rest()
  assert.equal(rest.at(-1)!.chunk.finish_reason, 'stop')
  const second = (await (await client.stream(question, { 'request-id': 'r2' })).rest()).at(-1)!.chunk
  assert.deepEqual(
    [second.finish_reason, second.client_tool_calls?.calls.length, second.approval_required?.calls.length],
    ['approval_required', 1, 1],
  )
  const afterOutput = await answer(client, 'r2', second.client_tool_calls!.calls[0]!.tool_call_id, null)
  assert.deepEqual([afterOutput.body.status, afterOutput.body.client_tool_calls], ['interrupted', undefined])
  await decide(client, 'r2', callsIn(afterOutput)[0]!)
  assert.equal((await client.run('r2')).status, 200)
})

test('Client tools: an asynchronous chat reports each interruption where its event asks for it', async (t) => {
  const receiver = await startReceiver(t, (_received, index) => (index === 0 ? 500 : 204))
  const { client } = await start(t, { environment: { OUTBOUND_ALLOW: receiver.host, CALLBACK_RETRY_SECONDS: '0.1,1' } })
  const data = { ...question, callback_url: receiver.url, callback_events: ['ai.service.agent.chain.interrupted'] }
  const accepted = await sendEvent(client, event('e', data))
  const again = await receiver.reaches(2)
  const id = `${accepted.body.request_id}:interrupt:1`
  assert.deepEqual([again.headers['webhook-id'], again.body.id, again.body.type], [id, id, 'ai.service.agent.chain.interrupted'])
  assert.equal(again.text, receiver.received[0]!.text, 'each attempt sends the same')
  const { client_tool_calls: calls, body, event_id: eventId } = again.body.data
  assert.deepEqual([eventId, body.input, calls.calls[0].tool], ['e', 'Where am I?', 'get_place'])
  await answer(client, accepted.body.request_id, calls.calls[0].tool_call_id, 'Basel')
  const end = await receiver.reaches(3)
  assert.deepEqual([end.body.type, end.body.data.body.output], ['ai.service.agent.chain.completed', 'Results: Basel, seen.'])
  const run = await until(
    () => client.run(accepted.body.request_id),
    ({ body }) => body.callback.status === 'delivered',
  )
  assert.deepEqual(
    run.body.callback.attempts.map((attempt: { event?: string; status: number }) => [attempt.event, attempt.status]),
    [
      ['ai.service.agent.chain.interrupted', 500],
      ['ai.service.agent.chain.interrupted', 204],
      [undefined, 204],
    ],
  )
})

test('Client tools: a restart loses no waiting run, and a cancelled run takes no output', async (t) => {
  const service = await start(t)
  const waiting = await service.client.chat(question, { 'request-id': 'r1' })
  await service.restart()
  await answer(service.client, 'r1', clientCalls(waiting)[0]!.tool_call_id, 'Basel')
  assert.equal((await service.client.chat(question, { 'request-id': 'r1' })).body.body.output, 'Results: Basel, seen.')
  const [call] = clientCalls(await service.client.chat(question, { 'request-id': 'r2' }))
  assert.equal((await cancel(service.client, 'r2')).body.status, 'cancelled')
  assert.equal((await answer(service.client, 'r2', call!.tool_call_id, 'x')).body.details.error_type, 'NotInterrupted')
})

test('Client tools: a plan waits in the middle of its step; a sub-agent has no tools of the client', async (t) => {
  const turns = [
    { text: '["Find the place", "Tell it"]' },
    callOf('get_place', { precision: 1 }),
    { text: 'Found.' },
    callOf('sub_agent_scout', { task: 'Where?' }),
    { text: 'Nowhere.' },
    { text: 'Told.' },
    { text: 'You are in Basel.' },
  ]
  const { client, model } = await start(t, { script: turns, config: { workflow_type: 'plan_execute' } })
  const scout = { name: 'scout', description: 'Scouts.', objective: 'Scout.', tools: ['look'] }
  assert.equal((await client.request('POST', '/core/v1/chain/sub_agents', { body: scout })).status, 200)
  const [call] = clientCalls(await client.chat(question, { 'request-id': 'r1' }))
  await answer(client, 'r1', call!.tool_call_id, 'Basel')
  const ended = await client.chat(question, { 'request-id': 'r1' })
  assert.equal(ended.body.body.output, 'You are in Basel.')
  const offered = model.requests.map(({ body }) => (body.tools ?? []).map((tool: { function: { name: string } }) => tool.function.name))
  assert.deepEqual(
    [offered[1]!.includes('get_place'), offered[4]!.includes('look'), offered[4]!.includes('get_place')],
    [true, true, false],
  )
})

test('Client tools: a caller has a limited number of waiting chats at every door, however many begin together', async (t) => {
  const { client, url, key, as } = await start(t, { config: { limits: { max_client_tool_waits: 2 } } })
  const together = await Promise.all([1, 2, 3, 4].map((n) => client.chat(question, { 'request-id': `r${n}` })))
  assert.deepEqual(
    together.map(({ status }) => status).toSorted((a, b) => a - b),
    [202, 202, 429, 429],
  )
  const refused = together.find(({ status }) => status === 429)!
  assert.equal(refused.body.details.error_type, 'RateLimited')
  assert.equal((await client.chat('Hello.')).status, 200)
  const post = async (path: string, body: object) => {
    const headers = { 'x-service-access': (await key()).key, 'content-type': 'application/json' }
    return fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  }
  const model = (await client.request('GET', '/v1/models')).body.data[0].id
  const tools = [{ name: place.name, description: '', parameters: place.schema }]
  const user = { id: 'u', role: 'user', content: 'Where am I?' }
  const doors: Record<string, object> = {
    '/core/v1/chain_streaming': question,
    '/v1/chat/completions': { model, messages: [user], tools: tools.map((tool) => ({ type: 'function', function: tool })) },
    '/v1/responses': { model, input: 'Where am I?', tools: tools.map((tool) => ({ type: 'function', ...tool })) },
    '/ag-ui': { threadId: 't', runId: 'a', state: {}, messages: [user], tools, context: [], forwardedProps: {} },
    '/ui/chat': { id: 'c', messages: [{ ...user, parts: [{ type: 'text', text: user.content }] }], client_tools: [place] },
  }
  for (const [path, body] of Object.entries(doors)) {
    const reply = await post(path, body)
    const text = await reply.text()
    assert.deepEqual([path, reply.status], [path, 429], text)
    const seconds = Number(reply.headers.get('retry-after'))
    assert.ok(seconds > 86_000 && seconds <= 86_400 && text.includes(`wait ${seconds} seconds`), `${seconds}: the first wait expires then`)
  }
  assert.equal((await sendEvent(client, event('e1', question))).status, 429)
  assert.equal((await (await as({ sub: 'bob' })).chat(question)).status, 202)
  const waiting = together.find(({ status }) => status === 202)!.body.client_tool_calls
  await answer(client, waiting.request_id, waiting.calls[0].tool_call_id, 'here')
  await until(
    () => client.run(waiting.request_id),
    ({ body }) => body.status === 'success',
  )
  assert.equal(
    (await client.chat(question, { 'request-id': refused.headers.get('request-id')! })).status,
    202,
    'a refused chat can be repeated',
  )
})
