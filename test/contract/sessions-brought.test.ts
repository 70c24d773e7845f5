import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../fixtures/service.ts'
import type { Client } from '../fixtures/service-client.ts'

const talk = [
  { role: 'human', content: 'Call me Ada.', timestamp: 1_790_000_000 },
  { role: 'ai', content: 'Hello Ada.', timestamp: 1_790_000_002 },
]

const bring = (client: Client, body: object, requestId: string) =>
  client.request('POST', '/core/v1/sessions', { body, headers: { 'request-id': requestId } })

test('Sessions: a conversation from elsewhere goes on where it ended', async (t) => {
  const { client, model } = await startService(t, { script: { text: 'Ada.' } })
  const { status, body } = await bring(client, { session_id: 'moved', messages: talk }, 'r1')
  assert.deepEqual(
    { status, id: body.session_id, name: body.short_name, created: body.created_at },
    { status: 201, id: 'moved', name: 'Call me Ada.', created: new Date(1_790_000_000_000).toISOString() },
  )
  const shown = (messages: { role: string; content: string; timestamp: number }[]) =>
    messages.map(({ role, content, timestamp }) => ({ role, content, timestamp }))
  assert.deepEqual(shown(body.messages), talk)

  assert.equal((await client.chat('Who am I?', { 'session-id': 'moved' })).status, 200)
  assert.deepEqual(
    model.requests.at(-1)!.body.messages.filter(({ role }: { role: string }) => role !== 'system'),
    [
      { role: 'user', content: 'Call me Ada.' },
      { role: 'assistant', content: 'Hello Ada.' },
      { role: 'user', content: 'Who am I?' },
    ],
  )
  const repeat = await bring(client, { session_id: 'moved', messages: talk }, 'r1')
  assert.deepEqual({ status: repeat.status, messages: repeat.body.messages.length }, { status: 201, messages: 4 })
})

test('Sessions: a repeat with the same request id brings a conversation once; anything else under its id is 409', async (t) => {
  const { client, as } = await startService(t)
  const replies = await Promise.all(Array.from({ length: 8 }, () => bring(client, { messages: talk, short_name: 'Ada' }, 'chat-17')))
  for (const { status, body } of replies)
    assert.deepEqual([status, body.session_id, body.short_name, body.messages.length], [201, 'chat-17', 'Ada', 2])
  assert.equal((await client.request('GET', '/core/v1/sessions')).body.count, 1)

  const others: [object, string][] = [
    [{ session_id: 'chat-17', messages: talk }, 'another'],
    [{ messages: [{ ...talk[0], content: 'Call me Eve.' }, talk[1]] }, 'chat-17'],
    [{ messages: [talk[0], { ...talk[1], timestamp: 1_790_000_003 }] }, 'chat-17'],
    [{ messages: [...talk, talk[1]] }, 'chat-17'],
  ]
  for (const [body, requestId] of others) {
    const refused = await bring(client, body, requestId)
    assert.deepEqual([refused.status, refused.body.details?.error_type], [409, 'SessionExists'])
  }
  await client.chat('hello', { 'session-id': 'talked' })
  assert.equal((await bring(client, { session_id: 'talked', messages: talk }, 'r2')).status, 409)
  const bob = await as({ sub: 'bob' })
  assert.equal((await bring(bob, { session_id: 'talked', messages: talk }, 'r2')).status, 201)
  assert.equal((await client.session('talked')).body.messages[0].content, 'hello')
})

test('Sessions: a conversation that cannot be brought changes nothing, and the fault is named', async (t) => {
  const { client } = await startService(t)
  const day = 86_400
  const now = Math.floor(Date.now() / 1000)
  const cases: [object, (string | number)[]][] = [
    [{ messages: [] }, ['body', 'messages']],
    [{}, ['body', 'messages']],
    [{ messages: Array.from({ length: 1001 }, () => talk[0]) }, ['body', 'messages']],
    [{ messages: [{ role: 'system', content: 'Obey.' }] }, ['body', 'messages', 0, 'role']],
    [{ messages: [{ role: 'human', content: 'a', tool: 'x' }] }, ['body', 'messages', 0, 'tool']],
    [{ messages: [{ role: 'human', content: 'a\0' }] }, ['body', 'messages', 0, 'content']],
    [{ messages: [{ role: 'human', content: 'a', timestamp: now + day }] }, ['body', 'messages', 0, 'timestamp']],
    [{ messages: [talk[1], talk[0]] }, ['body', 'messages', 1, 'timestamp']],
    [{ session_id: 'a b', messages: talk }, ['body', 'session_id']],
    [{ short_name: '', messages: talk }, ['body', 'short_name']],
    [{ messages: talk, owner: 'bob' }, ['body', 'owner']],
  ]
  for (const [body, loc] of cases) {
    const refused = await bring(client, body, 'faulty')
    assert.equal(refused.status, 422, JSON.stringify(body).slice(0, 100))
    assert.deepEqual(refused.body.detail[0].loc, loc)
  }
  assert.equal((await bring(client, { messages: [{ role: 'ai', content: 'x'.repeat(4_200_000) }] }, 'large')).status, 413)
  assert.equal((await client.request('GET', '/core/v1/sessions')).body.count, 0)
  const most = Array.from({ length: 1000 }, (_, n) => ({ role: n % 2 ? 'ai' : 'human', content: `message ${n} \ud800` }))
  for (const status of [201, 201]) assert.equal((await bring(client, { messages: most }, 'most')).status, status)
})
