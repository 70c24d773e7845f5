import assert from 'node:assert/strict'
import { test } from 'node:test'
import { event, sendEvent, until } from '../fixtures/async-client.ts'
import { startReceiver } from '../fixtures/callback-receiver.ts'
import type { Client } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'

const errorOf = ({ status, body }: { status: number; body: any }) => [status, body.details?.error_type]
const read = (client: Client, query = '') => client.request('GET', `/core/v1/runs/r1${query}`)
const cancel = (client: Client, query = '') => client.request('DELETE', `/core/v1/runs/r1${query}`)
const byText = (client: Client, query = '') => client.request('GET', `/core/v1/runs/r1/stream${query}`)

test('Runs: an administrator reads and follows every run of its tenant, by owner or as the only match', async (t) => {
  const { as } = await startService(t, { script: ({ body }) => ({ text: `to ${body.messages.at(-1).content}` }) })
  const [ann, bob, ada] = [await as(), await as({ sub: 'bob' }), await as({ sub: 'ada', roles: ['admin'] })]
  await ann.chat('ann', { 'request-id': 'r1' })
  const own = (await read(ann)).body
  for (const query of ['', '?sub=ann', '?issuer=agent-core', '?issuer=agent-core&sub=ann']) {
    assert.deepEqual((await read(ada, query)).body, own, query)
    assert.match((await byText(ada, query)).text, /to ann/, query)
  }
  for (const query of ['?sub=bob', '?issuer=other', '?issuer=other&sub=ann', '?sub=an', '?sub=agent-core%20ann']) {
    assert.deepEqual(errorOf(await read(ada, query)), [404, 'NotFound'], query)
  }
  await bob.chat('bob', { 'request-id': 'r1' })
  for (const reply of [await read(ada), await byText(ada), await cancel(ada), await read(ada, '?issuer=agent-core')]) {
    assert.deepEqual(errorOf(reply), [409, 'AmbiguousRun'])
    assert.match(reply.body.body, /Several callers have a run r1: .*issuer and sub/)
  }
  assert.equal((await read(ada, '?sub=bob')).body.outcome.output, 'to bob')
  assert.equal((await read(ada, '?sub=ann')).body.outcome.output, 'to ann')
  await ada.chat('ada', { 'request-id': 'r1' })
  assert.equal((await read(ada)).body.outcome.output, 'to ada')
})

test('Runs: other callers reach only their own run, whichever owner they name, and an administrator only its tenant', async (t) => {
  const { as } = await startService(t, { script: { text: 'secret' } })
  await (await as()).chat('hi', { 'request-id': 'r1' })
  const [operator, admin] = [await as({ sub: 'bob', roles: ['operator', 'user'] }), await as({ tenant: 'other', roles: ['admin'] })]
  for (const query of ['', '?sub=ann', '?issuer=agent-core&sub=ann']) {
    for (const client of [operator, admin]) {
      for (const reply of [await read(client, query), await byText(client, query), await cancel(client, query)]) {
        assert.deepEqual(errorOf(reply), [404, 'NotFound'], query)
      }
    }
  }
  const ann = await as()
  for (const query of ['?sub=ann', '?issuer=agent-core', '?sub=ann&issuer=agent-core']) assert.equal((await read(ann, query)).status, 200)
  for (const query of ['?sub=', '?issuer=', `?sub=${'x'.repeat(1025)}`, '?sub=%00', '?issuer=a%00']) {
    const { status, body } = await read(ann, query)
    assert.deepEqual([status, body.detail[0].loc[0]], [422, 'query'], query)
  }
})

test('Runs: an administrator cancels a run of another caller, and follows it to its end', async (t) => {
  const gate = gatedTool('wait')
  const { as, client } = await startService(t, { tools: [gate.tool], script: { ...callOf('wait'), text: 'I wait.' } })
  const ada = await as({ sub: 'ada', roles: ['admin'] })
  const chat = client.chat('go', { 'request-id': 'r1', 'session-id': 's1' })
  await gate.entered
  const following = byText(ada)
  const cancelled = await cancel(ada, '?sub=ann')
  assert.deepEqual([cancelled.status, cancelled.body.status], [200, 'cancelled'])
  assert.deepEqual(errorOf(await chat), [409, 'Cancelled'])
  assert.match((await following).text, /"finish_reason":"cancelled"/)
  assert.deepEqual(errorOf(await cancel(ada)), [409, 'RunEnded'])
  assert.equal((await client.session('s1')).body.messages.length, 2)
})

test('Runs: an administrator sees the callback of an async run; feedback, callbacks and decisions stay with its owner', async (t) => {
  const receiver = await startReceiver(t)
  const { as, client } = await startService(t, { script: { text: 'done' }, environment: { OUTBOUND_ALLOW: receiver.host } })
  const ada = await as({ sub: 'ada', roles: ['admin'] })
  const messages = [{ role: 'user', content: 'Go.' }]
  await sendEvent(client, event('e1', { messages, callback_url: receiver.url }), { 'request-id': 'r1' })
  await receiver.reaches(1)
  const { body } = await until(
    () => read(ada),
    (run) => run.body.callback?.status === 'delivered',
  )
  assert.deepEqual(
    { output: body.outcome.output, url: body.callback.url, attemptCount: body.callback.attempts.length },
    { output: 'done', url: receiver.url, attemptCount: 1 },
  )
  const asks = [
    ['callback', undefined],
    ['feedback', { score: 1 }],
    ['approvals', { tool_call_id: 'x', decision: 'approve' }],
  ] as const
  for (const [path, given] of asks) {
    const reply = await ada.request('POST', `/core/v1/runs/r1/${path}?sub=ann`, given ? { body: given } : {})
    assert.deepEqual(errorOf(reply), [404, 'NotFound'], path)
  }
})

test('Runs: a direct execution is not a run for administrators either, and a run of a deleted session is gone', async (t) => {
  const { as, client } = await startService(t, { tools: [fakeTool('look', async () => 1)], script: { text: 'hello' } })
  const ada = await as({ sub: 'ada', roles: ['admin'] })
  const execute = (of: Client) =>
    of.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'look' }, headers: { 'request-id': 'r1' } })
  assert.equal((await execute(client)).status, 200)
  assert.deepEqual(errorOf(await read(ada)), [404, 'NotFound'])
  assert.deepEqual(errorOf(await read(ada, '?sub=ann&issuer=agent-core')), [404, 'NotFound'])
  const bob = await as({ sub: 'bob' })
  await bob.chat('hi', { 'request-id': 'r1', 'session-id': 's1' })
  assert.equal((await execute(ada)).status, 200)
  assert.equal((await read(ada)).body.outcome.output, 'hello')
  await bob.request('DELETE', '/core/v1/sessions/s1')
  for (const reply of [await read(ada), await byText(ada), await cancel(ada)]) assert.deepEqual(errorOf(reply), [410, 'Gone'])
})
