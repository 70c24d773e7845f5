import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'

const session = { 'session-id': 's' }

test('Sessions: a deleted session is gone with its messages and runs, and a repeat of its requests is 410', async (t) => {
  const { client, as } = await startService(t, { script: { text: 'ok' }, tools: [fakeTool('add', async () => 3)] })
  await client.chat('chain', { ...session, 'request-id': 'chain' })
  await (await client.stream('stream', { ...session, 'request-id': 'stream' })).rest()
  const execute = (requestId: string) =>
    client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'add' }, headers: { ...session, 'request-id': requestId } })
  assert.equal((await execute('tool')).status, 200)
  const { status, body } = await client.request('DELETE', '/core/v1/sessions/s')
  assert.deepEqual({ status, body }, { status: 200, body: { session_id: 's', status: 'deleted' } })

  assert.equal((await client.session('s')).status, 404)
  assert.equal((await client.request('GET', '/core/v1/sessions')).body.count, 0)
  const again = [
    await client.chat('chain', { ...session, 'request-id': 'chain' }),
    await client.chat('chain', { 'request-id': 'chain' }),
    await client.chat('something else', { 'request-id': 'stream', 'session-id': 'other' }),
    await execute('tool'),
    await client.run('chain'),
    await client.request('DELETE', '/core/v1/runs/chain'),
  ]
  for (const reply of again)
    assert.deepEqual({ status: reply.status, error_type: reply.body.details.error_type }, { status: 410, error_type: 'Gone' })
  const streams = [await client.stream('stream', { ...session, 'request-id': 'stream' }), await client.follow('stream')]
  for (const stream of streams) assert.equal(stream.status, 410)
  const logs = await (await as({ roles: ['operator'] })).request('GET', '/core/v1/logs')
  assert.deepEqual({ total: logs.body.total, data: logs.body.data }, { total: 0, data: '[]' })

  assert.equal((await client.request('DELETE', '/core/v1/sessions/s')).status, 404)
  assert.equal((await client.chat('anew', session)).status, 200)
  assert.equal((await client.session('s')).body.messages.length, 2)
})

test('Sessions: deleting a session cancels its running and queued runs', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startService(t, { tools: [gate.tool], script: [callOf('wait'), { text: 'fresh' }] })
  const running = client.chat('one', { ...session, 'request-id': 'running' })
  await gate.entered
  const stream = client.stream('two', { ...session, 'request-id': 'waiting' })
  await until(async () => (await client.run('waiting')).status === 200, Boolean)
  assert.equal((await client.request('DELETE', '/core/v1/sessions/s')).status, 200)
  await gate.cancelled
  const [one, two] = await Promise.all([running, stream])
  assert.deepEqual({ status: one.status, error_type: one.body.details.error_type }, { status: 409, error_type: 'Cancelled' })
  assert.equal(two.status, 409)
  for (const id of ['running', 'waiting']) assert.equal((await client.run(id)).status, 410)
  assert.equal((await client.chat('anew', session)).body.body.output, 'fresh')
  assert.deepEqual(
    (await client.session('s')).body.messages.map(({ content }: { content: string }) => content),
    ['anew', 'fresh'],
  )
})

test('Sessions: no caller, not even an administrator, deletes a session of another caller', async (t) => {
  const { client, as } = await startService(t, { script: { text: 'ok' } })
  await client.chat('hello', session)
  const others = [await as({ sub: 'bob' }), await as({ sub: 'root', roles: ['admin'] }), await as({ sub: 'ann', tenant: 'b' })]
  for (const other of others) assert.equal((await other.request('DELETE', '/core/v1/sessions/s')).status, 404)
  const viewer = await as({ sub: 'ann', roles: ['viewer'] })
  assert.equal((await viewer.request('DELETE', '/core/v1/sessions/s')).status, 403)
  assert.equal((await viewer.request('POST', '/core/v1/sessions/s/fork', { body: { message_index: 0 } })).status, 403)
  assert.equal((await client.session('s')).status, 200)
})

test('Sessions: a fork continues from its messages, and leaves the first session unchanged', async (t) => {
  const { client, model } = await startService(t, { script: (_, index) => ({ text: `answer ${index}` }) })
  for (const text of ['one', 'two']) await client.chat(text, session)
  const fork = async (messageIndex: unknown) =>
    client.request('POST', '/core/v1/sessions/s/fork', { body: { message_index: messageIndex } })
  const { status, body } = await fork(2)
  assert.deepEqual({ status, keys: Object.keys(body) }, { status: 200, keys: ['session_id'] })
  const id = body.session_id
  await client.chat('three', { 'session-id': id })
  const contents = async (of: string) => (await client.session(of)).body.messages.map(({ content }: { content: string }) => content)
  assert.deepEqual(await contents(id), ['one', 'answer 0', 'three', 'answer 2'])
  assert.deepEqual(await contents('s'), ['one', 'answer 0', 'two', 'answer 1'])
  const shown = model.requests.at(-1)?.body.messages.map(({ content }: { content: string }) => content)
  assert.deepEqual(shown.slice(-3), ['one', 'answer 0', 'three'])
  const [newest] = (await client.request('GET', '/core/v1/sessions')).body.sessions
  assert.deepEqual({ session_id: newest.session_id, short_name: newest.short_name }, { session_id: id, short_name: 'one' })

  const empty = (await fork(0)).body.session_id
  assert.deepEqual(await contents(empty), [])
  for (const index of [5, -1, 1.5, '1', null, undefined]) {
    const refused = await fork(index)
    assert.deepEqual(
      { status: refused.status, loc: refused.body.detail[0].loc },
      { status: 422, loc: ['body', 'message_index'] },
      String(index),
    )
  }
})

test('Sessions: administrators fork sessions of their tenant into their own, other callers only their own', async (t) => {
  const { client, as } = await startService(t, { script: { text: 'ok' } })
  await client.chat('hello', session)
  const body = { message_index: 2 }
  const admin = await as({ sub: 'root', roles: ['admin'] })
  const { session_id: id } = (await admin.request('POST', '/core/v1/sessions/s/fork', { body })).body
  assert.equal((await admin.session(id)).body.messages.length, 2)
  assert.equal((await client.session(id)).status, 404)
  assert.equal((await admin.request('DELETE', `/core/v1/sessions/${id}`)).status, 200)
  for (const who of [{ sub: 'bob' }, { sub: 'root', roles: ['admin'], tenant: 'b' }]) {
    assert.equal((await (await as(who)).request('POST', '/core/v1/sessions/s/fork', { body })).status, 404)
  }
  assert.equal((await client.request('POST', '/core/v1/sessions/none/fork', { body })).status, 404)
})
