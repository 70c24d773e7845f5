import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { callsIn, decide, sending, sendTo } from '../fixtures/approvals.ts'
import { event, sendEvent, until } from '../fixtures/async-client.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import type { Client, Reply } from '../fixtures/service-client.ts'
import { startService, type ServiceOptions } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const ids = { 'request-id': 'r1', 'session-id': 's1' }

function send(client: Client, message: string, { id = randomUUID() as string, to = 'r1', ...fields }: Record<string, any> = {}) {
  return client.request('POST', `/core/v1/runs/${to}/messages`, { body: { message, ...fields }, headers: { 'request-id': id } })
}

/** A tool that waits until `open` is called. */
function gate(name = 'look') {
  const { promise, resolve } = Promise.withResolvers<void>()
  const started = Promise.withResolvers<void>()
  const tool = fakeTool(name, async () => {
    started.resolve()
    await promise
    return 'seen'
  })
  return { tool, open: resolve, started: started.promise }
}

async function start(t: TestContext, options: ServiceOptions = {}) {
  const look = gate()
  const service = await startService(t, {
    script: [callOf('look'), { text: 'Done.' }],
    ...options,
    tools: [look.tool, ...(options.tools ?? [])],
  })
  return { ...service, look, service }
}

const errorOf = ({ status, body }: Reply) => [status, body.details?.error_type]
const rolesOf = ({ body }: ModelServerRequest) => body.messages.map(({ role, content }: any) => (role === 'user' ? content : role))
const messagesOf = async (client: Client, id = 's1') =>
  (await client.session(id)).body.messages.map(({ role, content }: any) => [role, content])
const ended = (client: Client, id: string) =>
  until(
    () => client.run(id),
    ({ body }) => body.ended_at !== null && body.ended_at !== undefined,
  )

test('a message that arrives in a tool call is read behind its result, once, and is in the session and the stream at its place', async (t) => {
  const { client, look, model } = await start(t)
  const stream = await client.stream('Go.', ids)
  await look.started
  const id = randomUUID()
  const accepted = await send(client, 'Only the North.', { id })
  assert.deepEqual([accepted.status, accepted.body], [202, { message_id: id, position: 1 }], accepted.text)
  assert.deepEqual((await send(client, 'Only the North.', { id })).body, accepted.body)
  assert.deepEqual(errorOf(await send(client, 'Another text.', { id })), [409, 'RequestIdReused'])
  look.open()
  const chunks = (await stream.rest()).map(({ chunk }) => chunk)
  assert.deepEqual(
    chunks.filter(({ agent_step }) => agent_step !== 'answer').map(({ agent_step }) => agent_step),
    ['tool:look', 'tool:look', 'user_message'],
  )
  const user_message = { message_id: id, position: 1, message: 'Only the North.' }
  assert.deepEqual((chunks.find(({ agent_step }) => agent_step === 'user_message') as any)?.user_message, user_message)
  assert.deepEqual(rolesOf(model.requests[1]!), ['Go.', 'assistant', 'tool', 'Only the North.'])
  assert.deepEqual(await messagesOf(client), [
    ['human', 'Go.'],
    ['ai', ''],
    ['human', 'Only the North.'],
    ['ai', 'Done.'],
  ])
  const [sent] = (await client.request('GET', '/core/v1/runs/r1/messages')).body.messages
  assert.deepEqual([sent.message_id, sent.delivered_to, sent.delivered_at !== null], [id, 'r1', true])
  assert.deepEqual(errorOf(await send(client, 'Late.')), [409, 'RunEnded'])
  const trace = async (query = '') => (await client.request('GET', `/core/v1/runs/r1/trace${query}`)).body.spans
  const spans: any[] = await trace()
  const part = spans.find(({ kind }) => kind === 'message')
  assert.deepEqual([part.id, part.attributes.message], [`message:${id}`, 'Only the North.'])
  const models = spans.filter(({ kind }) => kind === 'model')
  const [asked] = (await trace(`?span=${models[1].id}`)).filter(({ messages }: any) => messages)
  assert.deepEqual(
    asked.messages.map(({ role, content }: any) => (role === 'user' ? content : role)),
    ['Go.', 'assistant', 'tool', 'Only the North.'],
  )
  const next = await client.chat('And now?', { 'session-id': 's1' })
  assert.equal(next.status, 200, next.text)
  assert.deepEqual(rolesOf(model.requests[2]!), ['Go.', 'assistant', 'tool', 'Only the North.', 'assistant', 'And now?'])
})

test('a message that overtakes the last answer is answered in the same run, also past max_iterations', async (t) => {
  let begin: () => void = () => undefined
  const begins = new Promise<void>((resolve) => (begin = resolve))
  const script = [{ text: 'First.', begins }, { text: 'Second.' }, { text: 'Third.' }]
  const { client, model } = await startService(t, { script, config: { max_iterations: 1 } })
  const reply = client.chat('Go.', ids)
  await until(
    async () => model.requests.length,
    (count) => count === 1,
  )
  assert.equal((await send(client, 'Shorter.')).status, 202)
  begin()
  assert.equal((await reply).body.body.output, 'Second.')
  assert.deepEqual(await messagesOf(client), [
    ['human', 'Go.'],
    ['ai', 'First.'],
    ['human', 'Shorter.'],
    ['ai', 'Second.'],
  ])
})

test('follow-ups are answered one by one behind the run, with the ids of the messages as request ids', async (t) => {
  const { client, look } = await start(t, { script: [callOf('look'), { text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }] })
  const reply = client.chat('Go.', ids)
  await look.started
  const [first, second] = [randomUUID(), randomUUID()]
  await send(client, 'Then this.', { id: first, mode: 'follow_up' })
  await send(client, 'Then that.', { id: second, mode: 'follow_up' })
  look.open()
  assert.equal((await reply).body.body.output, 'One.')
  const run = await ended(client, second)
  assert.deepEqual([run.body.outcome.output, run.body.continues], ['Three.', first])
  assert.equal((await client.run(first)).body.continues, 'r1')
  assert.deepEqual(await messagesOf(client), [
    ['human', 'Go.'],
    ['ai', 'One.'],
    ['human', 'Then this.'],
    ['ai', 'Two.'],
    ['human', 'Then that.'],
    ['ai', 'Three.'],
  ])
})

test('a message to a cancelled run begins the next one', async (t) => {
  const { client, look } = await start(t, { script: [callOf('look'), { text: 'Two.' }] })
  const reply = client.chat('Go.', ids)
  await look.started
  const id = randomUUID()
  await send(client, 'Do this instead.', { id })
  await client.request('DELETE', '/core/v1/runs/r1')
  await reply
  assert.equal((await ended(client, id)).body.outcome.output, 'Two.')
})

test('a message to a run that waits for an approval is read after the decision', async (t) => {
  const { sent, tool } = sending()
  const { client, model } = await startService(t, { tools: [tool], script: [sendTo('Bob'), { text: 'Done.' }] })
  const waiting = await client.chat('Write to Bob.', ids)
  assert.equal((await send(client, 'In French.')).status, 202)
  await decide(client, 'r1', callsIn(waiting)[0]!)
  assert.equal((await ended(client, 'r1')).body.outcome.output, 'Done.')
  assert.deepEqual(sent, [{ to: 'Bob' }])
  assert.deepEqual(rolesOf(model.requests[1]!), ['Write to Bob.', 'assistant', 'tool', 'In French.'])
})

test('messages are refused to others, beyond ten that wait, and beyond 16,000 characters', async (t) => {
  const { client, look, as } = await start(t)
  const reply = client.chat('Go.', ids)
  await look.started
  assert.deepEqual(errorOf(await send(await as({ sub: 'bob' }), 'x')), [404, 'NotFound'])
  assert.deepEqual(errorOf(await send(await as({ sub: 'root', roles: ['admin'] }), 'x')), [404, 'NotFound'])
  assert.deepEqual(errorOf(await send(await as({ tenant: 'other' }), 'x')), [404, 'NotFound'])
  assert.deepEqual(errorOf(await send(await as({ roles: ['viewer'] }), 'x')), [403, 'Forbidden'])
  assert.deepEqual(errorOf(await send(client, 'x', { to: 'r9' })), [404, 'NotFound'])
  for (const body of [
    {},
    { message: '' },
    { message: ' \n' },
    { message: 'x'.repeat(16_001) },
    { message: 'x', mode: 'now' },
    { message: 'x', more: 1 },
  ])
    assert.equal((await client.request('POST', '/core/v1/runs/r1/messages', { body })).status, 422, JSON.stringify(body).slice(0, 80))
  for (let n = 0; n < 10; n++) assert.equal((await send(client, `message ${n}`)).status, 202)
  assert.deepEqual(errorOf(await send(client, 'one more')), [429, 'RateLimited'])
  look.open()
  await reply
  assert.equal((await messagesOf(client)).filter(([role]: string[]) => role === 'human').length, 11)
})

test('a chat of a busy session waits, is refused, steers the run, or cancels it, as on_busy says', async (t) => {
  const { client, look, as } = await start(t, { script: [callOf('look'), { text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }] })
  const ask = (content: string, on_busy: string, id: string, more: object = {}, who = client) =>
    who.chat({ messages: [{ role: 'user', content }], on_busy, ...more }, { 'session-id': 's1', 'request-id': id })
  const reply = client.chat('Go.', ids)
  await look.started
  assert.deepEqual(errorOf(await ask('x', 'reject', 'r2')), [409, 'SessionBusy'])
  const steered = await ask('Shorter.', 'steer', 'r3')
  assert.deepEqual([steered.status, steered.body], [202, { request_id: 'r1', message_id: 'r3', position: 1 }])
  const streamed = await client.stream(
    { messages: [{ role: 'user', content: 'And in French.' }], on_busy: 'steer' },
    { 'session-id': 's1', 'request-id': 'r4' },
  )
  assert.deepEqual([streamed.status, streamed.body.position], [202, 2])
  const hints = [{ tool_name: 'look', filter_key: 'a', filter_type: 'equals', filter_value: 'b' }]
  assert.equal((await ask('x', 'steer', 'r5', { data_filter_hints: hints })).status, 422)
  assert.equal((await ask(' \n', 'steer', 'r5')).status, 422)
  assert.equal((await ask('😀'.repeat(16_001), 'steer', 'r5')).status, 422)
  assert.equal((await ask('😀'.repeat(16_000), 'steer', 'r9')).status, 202)
  // The session of another caller is another one.
  const other = await ask('Hello.', 'reject', 'r6', {}, await as({ sub: 'bob' }))
  assert.equal(other.status, 200, other.text)
  look.open()
  assert.equal((await reply).body.body.output, 'Two.')
  assert.deepEqual((await ask('Shorter.', 'steer', 'r3')).body, steered.body)
  assert.deepEqual(errorOf(await ask('Longer.', 'steer', 'r3')), [409, 'RequestIdReused'])
  assert.equal((await ask('Free now?', 'steer', 'r7')).body.body.output, 'Three.')
  assert.equal((await ask('Free now?', 'reject', 'r8')).status, 200)
  assert.equal((await ask('Free now?', 'reject', 'r8')).status, 200)
})

test('on_busy cancel_running cancels the run of the session, and is answered next', async (t) => {
  const { client, look } = await start(t, { script: [callOf('look'), { text: 'Two.' }] })
  const reply = client.chat('Go.', ids)
  await look.started
  const body = { messages: [{ role: 'user', content: 'This instead.' }], on_busy: 'cancel_running' }
  const answer = await client.chat(body, { 'session-id': 's1', 'request-id': 'r2' })
  assert.deepEqual([answer.status, answer.body.body.output], [200, 'Two.'])
  assert.deepEqual(errorOf(await reply), [409, 'Cancelled'])
  assert.equal((await client.chat(body, { 'session-id': 's1', 'request-id': 'r2' })).body.body.output, 'Two.')
})

test('an event of a busy session waits, is refused, steers the run, or cancels it, as on_busy of its data says', async (t) => {
  const { client, look, model } = await start(t, { script: [callOf('look'), { text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }] })
  const dataOf = (content: string, on_busy: string, more: object = {}) => ({ messages: [{ role: 'user', content }], on_busy, ...more })
  const sendOne = (id: string, data: object) => sendEvent(client, event(id, data), { 'session-id': 's1' })
  const reply = client.chat('Go.', ids)
  await look.started
  assert.deepEqual(errorOf(await sendOne('e1', dataOf('x', 'reject'))), [409, 'SessionBusy'])
  const steered = await sendOne('e2', dataOf('Shorter.', 'steer'))
  const { message_id, ...acknowledged } = steered.body
  assert.deepEqual(acknowledged, { status: 'accepted', id: 'e2', request_id: 'r1', session_id: 's1', position: 1 }, steered.text)
  // A batch names the session in each event.
  const batch = [event('e2', dataOf('Shorter.', 'steer', { session_id: 's1' })), event('e3', dataOf('x', 'reject', { session_id: 's1' }))]
  const batched = await client.request('POST', '/core/v1/chain_async', {
    body: JSON.stringify(batch),
    headers: { 'content-type': 'application/cloudevents-batch+json' },
  })
  assert.deepEqual(batched.body[0], steered.body, batched.text)
  assert.equal(batched.body[1].details.error_type, 'SessionBusy')
  const lost = await sendOne('e4', dataOf('x', 'steer', { callback_url: 'https://example.com/' }))
  assert.deepEqual([lost.status, lost.body.detail[0].loc], [422, ['body', 'data', 'callback_url']])
  look.open()
  assert.equal((await reply).body.body.output, 'One.')
  assert.deepEqual(rolesOf(model.requests[1]!), ['Go.', 'assistant', 'tool', 'Shorter.'])
  assert.deepEqual((await sendOne('e2', dataOf('Shorter.', 'steer'))).body, { ...steered.body, message_id })
  const free = (await sendOne('e5', dataOf('Free now?', 'steer'))).body
  assert.equal((await ended(client, free.request_id)).body.outcome.output, 'Two.')
  assert.deepEqual((await sendOne('e5', dataOf('Free now?', 'steer'))).body, free)
  assert.equal((await ended(client, (await sendOne('e1', dataOf('And now?', 'reject'))).body.request_id)).body.outcome.output, 'Three.')
})

test('an event with on_busy cancel_running cancels the run of the session, and runs next', async (t) => {
  const { client, look } = await start(t, { script: [callOf('look'), { text: 'Two.' }] })
  const reply = client.chat('Go.', ids)
  await look.started
  const data = { messages: [{ role: 'user', content: 'This instead.' }], on_busy: 'cancel_running', session_id: 's1' }
  const accepted = (await sendEvent(client, event('e1', data))).body
  assert.deepEqual(errorOf(await reply), [409, 'Cancelled'])
  assert.equal((await ended(client, accepted.request_id)).body.outcome.output, 'Two.')
  assert.deepEqual((await sendEvent(client, event('e1', data))).body, accepted)
})
