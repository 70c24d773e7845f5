import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../fixtures/async-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, gatedTool } from '../fixtures/tools.ts'

const contents = (messages: { content: string }[]) => messages.map((message) => message.content)

test('Headers: a run continues as long as one of its requesters is connected', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startService(t, {
    tools: [gate.tool],
    script: [callOf('wait'), { text: 'done' }],
    config: { limits: { reconnect_grace: 0 } },
  })
  const leaving = new AbortController()
  const first = client.chat('go', { 'request-id': 'r' }, leaving.signal).catch(() => undefined)
  await gate.entered
  const second = client.chat('go', { 'request-id': 'r' })
  // The refusal shows that the second request, sent before it, has arrived.
  assert.equal((await client.chat('other', { 'request-id': 'r' })).status, 409)
  leaving.abort()
  await first
  // The grace is 0, so without the second request the run would be cancelled by now.
  await sleep(100)
  gate.open()
  assert.equal((await second).body.body.output, 'done')
})

test('Headers: a failed run that is repeated while its session is busy waits, and its human message is not doubled', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startService(t, {
    tools: [gate.tool],
    script: [{ status: 400, body: {} }, callOf('wait'), { text: 'second' }, { text: 'first' }],
  })
  const ids = { 'session-id': 's', 'request-id': 'r' }
  assert.equal((await client.chat('one', ids)).status, 502)
  const other = client.chat('two', { 'session-id': 's' })
  await gate.entered
  const repeat = client.chat('one', ids)
  await until(async () => (await client.run('r')).body.status === 'pending', Boolean)
  gate.open()
  assert.equal((await other).body.body.output, 'second')
  assert.equal((await repeat).body.body.output, 'first')
  assert.deepEqual(contents((await client.session('s')).body.messages), ['one', 'two', 'second', 'first'])
})

test('Headers: a failed run whose repeat was refused by a busy session stays failed, and can be repeated again', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startService(t, {
    tools: [gate.tool],
    script: [{ status: 400, body: {} }, callOf('wait'), { text: 'second' }, { text: 'first' }],
    config: { limits: { max_session_wait: 0.1 } },
  })
  const ids = { 'session-id': 's', 'request-id': 'r' }
  assert.equal((await client.chat('one', ids)).status, 502)
  const other = client.chat('two', { 'session-id': 's' })
  await gate.entered
  assert.equal((await client.chat('one', ids)).body.details.error_type, 'SessionBusy')
  const run = (await client.run('r')).body
  assert.equal(run.status, 'error')
  assert.equal(typeof run.error?.body, 'string')
  const replay = await client.follow('r')
  assert.equal(replay.status, run.error.status_code)
  assert.deepEqual(replay.body, run.error)
  gate.open()
  await other
  assert.equal((await client.chat('one', ids)).body.body.output, 'first')
})

for (const [effect, status] of [
  ['read', 200],
  ['write', 503],
] as const) {
  test(`Headers: a ${effect} call of tool/execute that a disconnect interrupted has no outcome to repeat`, async (t) => {
    const gate = gatedTool('wait', { effect })
    const { url, key } = await startService(t, { tools: [gate.tool], script: {} })
    const headers = { 'x-service-access': (await key()).key, 'content-type': 'application/json', 'request-id': 'r' }
    const execute = (signal?: AbortSignal) =>
      fetch(`${url}/core/v1/tool/execute`, { method: 'POST', headers, body: '{"tool_name": "wait"}', signal: signal ?? null })
    const leaving = new AbortController()
    const first = execute(leaving.signal)
    await gate.entered
    leaving.abort()
    await assert.rejects(first)
    await gate.cancelled
    gate.open()
    const again = await execute()
    assert.equal(again.status, status)
    assert.equal(gate.inputs.length, effect === 'read' ? 2 : 1)
    assert.equal((await execute()).status, status)
    assert.equal(gate.inputs.length, effect === 'read' ? 2 : 1)
  })
}

test('Headers: a repeat of a running direct execution waits for it, and gets its session', async (t) => {
  const gate = gatedTool('wait', { effect: 'write' })
  const { client } = await startService(t, { tools: [gate.tool], script: {} })
  const execute = () => client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'wait' }, headers: { 'request-id': 'r' } })
  const first = execute()
  await gate.entered
  const again = execute()
  gate.open()
  assert.deepEqual((await again).body, (await first).body)
  assert.equal((await again).headers.get('session-id'), (await first).headers.get('session-id'))
  assert.equal(gate.inputs.length, 1)
})

test('Headers: a direct execution continues as long as one of its requesters is connected', async (t) => {
  const gate = gatedTool('wait')
  const { client, url, key } = await startService(t, { tools: [gate.tool], script: {} })
  const leaving = new AbortController()
  const headers = { 'x-service-access': (await key()).key, 'content-type': 'application/json', 'request-id': 'r' }
  const body = '{"tool_name":"wait"}'
  const first = fetch(`${url}/core/v1/tool/execute`, { method: 'POST', headers, body, signal: leaving.signal })
  await gate.entered
  const execute = (input: object) => client.request('POST', '/core/v1/tool/execute', { body: input, headers: { 'request-id': 'r' } })
  const second = execute({ tool_name: 'wait' })
  // The refusal shows that the second request, sent before it, has arrived.
  assert.equal((await execute({ tool_name: 'wait', tool_input: {} })).status, 409)
  leaving.abort()
  await assert.rejects(first)
  // The wait is long enough for a cancellation by the first disconnect.
  await sleep(100)
  gate.open()
  assert.deepEqual((await second).body.output, { done: 1 })
})

test('Headers: concurrent repeats of an ended run all get its outcome', async (t) => {
  const { client, log } = await startService(t, { script: [{ text: 'secret answer' }] })
  const ids = { 'session-id': 's', 'request-id': 'r' }
  await client.chat('secret question', ids)
  const repeats = await Promise.all([1, 2, 3, 4, 5, 6].map((at) => client.chat('secret question', at % 2 ? ids : { 'request-id': 'r' })))
  for (const { status, body, headers } of repeats) {
    assert.deepEqual(
      { status, output: body.body?.output, 'session-id': headers.get('session-id') },
      { status: 200, output: 'secret answer', 'session-id': 's' },
    )
  }
  assert.doesNotMatch(log.join(), /secret/)
})

test('Headers: concurrent repeats of a failed run continue it once, and it can be cancelled', async (t) => {
  const gate = gatedTool('wait')
  const { client, model } = await startService(t, {
    tools: [gate.tool],
    script: [{ status: 400, body: {} }, callOf('wait'), { text: 'done' }],
  })
  const ids = { 'session-id': 's', 'request-id': 'r' }
  assert.equal((await client.chat('go', ids)).status, 502)
  const repeats = [1, 2, 3, 4].map(() => client.chat('go', ids))
  await gate.entered
  assert.equal((await client.request('DELETE', '/core/v1/runs/r')).body.status, 'cancelled')
  assert.deepEqual(new Set((await Promise.all(repeats)).map(({ status }) => status)), new Set([409]))
  assert.equal(model.requests.length, 2)
})
