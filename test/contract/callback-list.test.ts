import assert from 'node:assert/strict'
import { test } from 'node:test'
import { event, sendEvent, until } from '../fixtures/async-client.ts'
import { startReceiver } from '../fixtures/callback-receiver.ts'
import type { Client } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'

const list = (client: Client, query = '') => client.request('GET', `/core/v1/callbacks${query}`)
const ask = (text: string, url: string) => event(text, { messages: [{ role: 'user', content: text }], callback_url: url })
const settled = (client: Client, query = '') =>
  until(
    () => list(client, query),
    ({ body }) => body.callbacks[0]?.status === 'delivered',
  )

test('Callbacks: the list shows what was sent and answered, and when the next attempt is made', async (t) => {
  const receiver = await startReceiver(t, (_, index, response) => {
    const status = index === 0 ? 503 : 200
    response.writeHead(status, { 'content-type': 'text/plain' }).end(index === 0 ? `no\0\u202e${'é'.repeat(5000)}` : '')
    return undefined
  })
  const environment = { OUTBOUND_ALLOW: receiver.host, CALLBACK_RETRY_SECONDS: '30' }
  const { client } = await startService(t, { script: { text: `done ${'x'.repeat(5000)}` }, environment })
  const url = receiver.url.replace('http://', 'http://me:hunter2@')
  await sendEvent(client, ask('Go.', `${url}?token=hunter3`), { 'request-id': 'r1' })
  const { body } = await until(
    () => list(client),
    (reply) => reply.body.callbacks[0]?.attempts.length > 0,
  )
  const [{ created_at, attempts, next_attempt_at, ...callback }] = body.callbacks
  assert.deepEqual(
    { ...callback, has_more: body.has_more },
    { request_id: 'r1', issuer: 'agent-core', sub: 'ann', url: `${receiver.url}?token=hunter3`, status: 'pending', has_more: false },
  )
  const [{ at, request_body, response_body, ...attempt }, ...others] = attempts
  assert.deepEqual([attempt, others], [{ status: 503 }, []])
  assert.equal(request_body, receiver.received[0]!.text.slice(0, 4096))
  assert.match(response_body, /^no\uFFFD\uFFFDé+$/)
  const waitMs = Date.parse(next_attempt_at) - Date.parse(at)
  assert.ok(created_at <= at && waitMs >= 30_000 && waitMs < 40_000, String(waitMs))
  // The run itself shows no bodies.
  const run = await client.run('r1')
  assert.deepEqual(run.body.callback.attempts, [{ at, status: 503 }])
  await client.request('POST', '/core/v1/runs/r1/callback')
  const [delivered] = (await settled(client)).body.callbacks
  assert.deepEqual([delivered.next_attempt_at, delivered.attempts.length, 'response_body' in delivered.attempts[1]], [undefined, 2, false])
  assert.equal(delivered.attempts[1].request_body, request_body)
})

test('Callbacks: each role sees what it may see, and bodies and secrets of the URL only the owner', async (t) => {
  const receiver = await startReceiver(t, (_, _index, response) => void response.writeHead(200).end('thanks'))
  const { as } = await startService(t, { script: { text: 'secret' }, environment: { OUTBOUND_ALLOW: receiver.host } })
  const who = (sub: string, role: string, tenant = 'default') => as({ sub, roles: [role], tenant })
  const url = receiver.url.replace('http://', 'http://me:hunter2@')
  await sendEvent(await who('ann', 'user'), ask('of ann', `${url}?token=hunter3`), { 'request-id': 'r1' })
  await settled(await who('ann', 'user'))
  const own = (await list(await who('ann', 'viewer'))).body.callbacks[0]
  assert.equal(own.attempts[0].response_body, 'thanks')
  assert.match(own.attempts[0].request_body, /"output":"secret"/)
  for (const client of [await who('bob', 'viewer'), await who('bob', 'user'), await who('ann', 'admin', 'other')]) {
    assert.deepEqual((await list(client)).body, { callbacks: [], offset: '', has_more: false })
  }
  for (const role of ['operator', 'admin']) {
    const { text, body } = await list(await who('bob', role))
    assert.doesNotMatch(text, /hunter|thanks|secret/)
    const [{ at, status }] = own.attempts
    assert.deepEqual(body.callbacks, [
      { ...own, url: `${receiver.url.replace('http://', 'http://********@')}?********`, attempts: [{ at, status }] },
    ])
  }
  // An administrator who reads the run sees no secret of its URL either.
  const run = await (await who('ada', 'admin')).request('GET', '/core/v1/runs/r1')
  assert.doesNotMatch(run.text, /hunter/)
})

test('Callbacks: the list is filtered by status and read in pages, and names the parameter that it cannot use', async (t) => {
  const receiver = await startReceiver(t, ({ body }) => (body.subject === 'bad' ? 410 : 204))
  const { client, as } = await startService(t, { script: { text: 'ok' }, environment: { OUTBOUND_ALLOW: receiver.host } })
  const operator = await as({ sub: 'bob', roles: ['operator'] })
  for (const id of ['r1', 'r2', 'r3']) {
    await sendEvent(client, ask(id, receiver.url), { 'request-id': id, 'session-id': id === 'r2' ? 'bad' : id })
    await receiver.reaches(Number(id.slice(1)))
  }
  const idsOf = (reply: Awaited<ReturnType<Client['request']>>) => reply.body.callbacks.map((one: any) => one.request_id)
  for (const caller of [client, operator]) {
    await until(
      () => list(caller, '?status=delivered'),
      (reply) => idsOf(reply).length === 2,
    )
    assert.deepEqual(idsOf(await list(caller, '?status=gone')), ['r2'])
    assert.deepEqual(idsOf(await list(caller, '?status=pending')), [])
    const first = await list(caller, '?limit=2')
    assert.deepEqual([idsOf(first), first.body.has_more], [['r3', 'r2'], true])
    const second = await list(caller, `?limit=2&before=${first.body.offset}`)
    assert.deepEqual([idsOf(second), second.body.has_more], [['r1'], false])
  }
  for (const [name, value] of [
    ['status', 'lost'],
    ['limit', '0'],
    ['before', 'r1'],
  ]) {
    const { status, body } = await list(client, `?${name}=${value}`)
    assert.deepEqual([status, body.detail?.[0]?.loc], [422, ['query', name]])
  }
})

test('Callbacks: a receiver whose body never ends gets its callback delivered, with the start of the body', async (t) => {
  const receiver = await startReceiver(t, (_, _index, response) => void response.writeHead(200).write('thanks, and'))
  const { client } = await startService(t, { script: { text: 'ok' }, environment: { OUTBOUND_ALLOW: receiver.host } })
  await sendEvent(client, ask('Go.', receiver.url))
  const [{ attempts }] = (await settled(client)).body.callbacks
  assert.deepEqual([attempts.length, attempts[0].status, attempts[0].response_body], [1, 200, 'thanks, and'])
})
