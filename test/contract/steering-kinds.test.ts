import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { event, sendEvent, until } from '../fixtures/async-client.ts'
import { startReceiver } from '../fixtures/callback-receiver.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import type { Client } from '../fixtures/service-client.ts'
import { startService, type ServiceOptions } from '../fixtures/service.ts'
import { callOf, gatedTool } from '../fixtures/tools.ts'

const ids = { 'request-id': 'r1', 'session-id': 's1' }

async function start(t: TestContext, options: ServiceOptions = {}) {
  const look = gatedTool('look')
  const service = await startService(t, { script: [callOf('look'), { text: 'One.' }, { text: 'Two.' }], ...options, tools: [look.tool] })
  return { ...service, look }
}

async function send(client: Client, message: string, { to = 'r1', mode = 'steer' } = {}): Promise<string> {
  const id = randomUUID()
  const sent = await client.request('POST', `/core/v1/runs/${to}/messages`, { body: { message, mode }, headers: { 'request-id': id } })
  assert.equal(sent.status, 202, sent.text)
  return id
}

const ended = (client: Client, id: string) =>
  until(
    () => client.run(id),
    ({ body }) => typeof body.ended_at === 'string',
  )
const usersOf = ({ body }: ModelServerRequest) => body.messages.flatMap(({ role, content }: any) => (role === 'user' ? [content] : []))

test('the run that answers a message of a run with a callback reports to the same receiver', async (t) => {
  const receiver = await startReceiver(t)
  const { client, look } = await start(t, { environment: { OUTBOUND_ALLOW: receiver.host } })
  const data = { messages: [{ role: 'user', content: 'Go.' }], callback_url: receiver.url }
  await sendEvent(client, event('e1', data), ids)
  await look.entered
  const id = await send(client, 'And then?', { mode: 'follow_up' })
  look.open()
  await receiver.reaches(2)
  const told = receiver.received.map(({ body }) => body)
  assert.deepEqual(
    told.map(({ id: name, data: { event_id, request_id, body } }) => [name, event_id, request_id, body.output]),
    [
      ['r1', 'e1', 'r1', 'One.'],
      [id, 'e1', id, 'Two.'],
    ],
  )
})

test('a deleted session takes the messages of its runs along', async (t) => {
  const { client, look } = await start(t)
  const reply = client.chat('Go.', ids)
  await look.entered
  const id = await send(client, 'And then?', { mode: 'follow_up' })
  assert.equal((await client.request('DELETE', '/core/v1/sessions/s1')).status, 200)
  await reply
  for (const path of ['/core/v1/runs/r1/messages', `/core/v1/runs/${id}`])
    assert.equal((await client.request('GET', path)).status, 410, path)
})

test('a run that is not kept takes messages while it works, and the run behind it is not kept either', async (t) => {
  const { client, look } = await start(t, { script: [callOf('look'), { text: 'One.' }, { text: 'Two.' }] })
  const body = { model: 'agent-core', input: 'Go.', store: false }
  const reply = client.request('POST', '/v1/responses', { body, headers: { 'request-id': 'r1' } })
  await Promise.race([look.entered, reply.then(({ text }) => assert.fail(text))])
  await send(client, 'Shorter.')
  const id = await send(client, 'And then?', { mode: 'follow_up' })
  look.open()
  assert.match((await reply).text, /One\./)
  await until(
    () => client.run(id),
    ({ status }) => status === 404,
  )
})

test('a message waits for a sub-agent, and is read by the agent itself', async (t) => {
  const made = { name: 'helper', description: 'Helps.', objective: 'Help.', tools: ['look'] }
  const { client, look, model } = await start(t, {
    script: [callOf('sub_agent_helper', { task: 'Look.' }), callOf('look'), { text: 'Seen.' }, { text: 'Done.' }],
  })
  const created = await client.request('POST', '/core/v1/chain/sub_agents', { body: made })
  assert.ok(created.status < 300, created.text)
  const name = (await client.request('GET', '/core/v1/chain/sub_agents')).body.sub_agents[0].name
  assert.equal(name, 'helper')
  const reply = client.chat('Go.', ids)
  await Promise.race([look.entered, reply])
  await send(client, 'Shorter.')
  look.open()
  const answer = await reply
  const steered = model.requests.filter((request) => usersOf(request).includes('Shorter.'))
  assert.deepEqual([answer.body.body.output, steered.length, model.requests.indexOf(steered[0]!)], ['Done.', 1, 3])
})

test('an answer with a schema is made again behind a message, and fits', async (t) => {
  const { client, look } = await start(t, { script: [callOf('look'), { text: '{"n": 2}' }] })
  const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
  const reply = client.chat({ messages: [{ role: 'user', content: 'Go.' }], response_schema: schema }, ids)
  await look.entered
  await send(client, 'Double it.')
  const id = await send(client, 'And then?', { mode: 'follow_up' })
  look.open()
  assert.deepEqual((await reply).body.body.structured_output, { n: 2 })
  assert.deepEqual((await ended(client, id)).body.outcome.structured_output, { n: 2 })
})

test('a message in a repair is answered in the same run, whose answers are both in the session', async (t) => {
  const { promise: begins, resolve: begin } = Promise.withResolvers<void>()
  const { client, model } = await start(t, { script: [{ text: 'one' }, { text: '{"n": 1}', begins }, { text: '{"n": 2}' }] })
  const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
  const reply = client.chat({ messages: [{ role: 'user', content: 'Go.' }], response_schema: schema }, ids)
  await until(
    async () => model.requests.length,
    (count) => count === 2,
  )
  await send(client, 'Double it.')
  begin()
  assert.deepEqual((await reply).body.body.structured_output, { n: 2 })
  const { messages } = (await client.session('s1')).body
  assert.deepEqual(
    messages.map(({ content }: { content: string }) => content),
    ['Go.', '{"n": 1}', 'Double it.', '{"n": 2}'],
  )
})
