import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'

test('Access: requests over the limit of a minute are 429 with retry-after, counted for each caller', async (t) => {
  const { client, as, url } = await startService(t, {
    config: { access: { rate_limits: { user: { requests_per_minute: 3 } } } },
  })
  const list = (of = client) => of.request('GET', '/core/v1/sessions')
  for (let n = 0; n < 3; n += 1) assert.equal((await list()).status, 200)
  const refused = await list()
  assert.deepEqual(
    { status: refused.status, status_code: refused.body.status_code, details: refused.body.details },
    { status: 429, status_code: 429, details: { error_type: 'RateLimited' } },
  )
  const wait = Number(refused.headers.get('retry-after'))
  assert.ok(Number.isInteger(wait) && wait > 50 && wait <= 60)
  // The rate limit comes before validation.
  assert.equal((await client.request('GET', '/core/v1/logs')).status, 429)
  assert.equal((await list(await as({ sub: 'bob' }))).status, 200)
  assert.equal((await list(await as({ tenant: 'b' }))).status, 200)
  assert.equal((await list(await as({ roles: ['user', 'viewer'] }))).status, 200)
  assert.equal((await fetch(`${url}/health`)).status, 200)
  assert.equal((await client.request('DELETE', '/core/v1/sessions')).status, 405)
})

test('Access: chats over the concurrency limit are 429; joining or repeating a run is not', async (t) => {
  const gate = gatedTool('wait')
  const { client, as } = await startService(t, {
    tools: [gate.tool],
    script: ({ body }) => (body.messages.at(-1).role === 'tool' ? { text: 'done' } : callOf('wait')),
    config: { access: { rate_limits: { default: { concurrent_runs: 2 } } } },
  })
  // Concurrent requests: a run that is being stored counts too.
  const refused: string[] = []
  const ids = ['a', 'b', 'c', 'd']
  const chats = ids.map(async (id) => {
    const reply = await client.chat('go', { 'request-id': id, 'session-id': id })
    if (reply.status !== 200) refused.push(id)
    return reply
  })
  await gate.entered
  await until(async () => gate.inputs.length >= 2 && refused.length >= 2, Boolean)
  // The order of concurrent requests is undefined.
  for (const id of refused) {
    const { status, body, headers } = await chats[ids.indexOf(id)]!
    assert.deepEqual({ status, error_type: body.details.error_type }, { status: 429, error_type: 'RateLimited' })
    assert.ok(Number(headers.get('retry-after')) > 0)
  }
  const stream = await client.stream('go', { 'request-id': 'e' })
  assert.deepEqual({ status: stream.status, error_type: stream.body.details.error_type }, { status: 429, error_type: 'RateLimited' })
  const taken = ids.find((id) => !refused.includes(id))!
  const joined = client.chat('go', { 'request-id': taken, 'session-id': taken })
  const other = (await as({ sub: 'bob' })).chat('go', {})
  gate.open()
  assert.deepEqual([(await joined).status, (await other).status], [200, 200])
  const statuses = (await Promise.all(chats)).map(({ status }) => status).sort((a, b) => a - b)
  assert.deepEqual(statuses, [200, 200, 429, 429])
  // A refused request was not stored, so its id is free.
  assert.equal((await client.chat('go', { 'request-id': refused[0]!, 'session-id': refused[0]! })).status, 200)
})

test('Access: an ended request can be repeated even when new runs are refused', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startService(t, {
    tools: [gate.tool],
    script: ({ body }) => (body.messages.at(-1).content === 'wait' ? callOf('wait') : { text: 'done' }),
    config: { access: { rate_limits: { default: { concurrent_runs: 1 } } } },
  })
  assert.equal((await client.chat('quick', { 'request-id': 'first' })).status, 200)
  const running = client.chat('wait')
  await gate.entered
  assert.equal((await client.chat('quick', { 'request-id': 'first' })).body.body.output, 'done')
  assert.equal((await client.chat('quick', { 'request-id': 'second' })).status, 429)
  gate.open()
  assert.equal((await running).status, 200)
})

test('Errors: a process with too many runs refuses only new chats and executions', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startService(t, {
    tools: [gate.tool, fakeTool('add', async () => 3)],
    script: [callOf('wait'), { text: 'done' }],
    config: { limits: { max_runs: 1 } },
  })
  const running = client.chat('go', { 'request-id': 'a' })
  await gate.entered
  const execute = { body: { tool_name: 'add' } }
  const refused = [await client.chat('go', {}), await client.request('POST', '/core/v1/tool/execute', execute)]
  for (const { status, body, headers } of refused) {
    assert.deepEqual({ status, error_type: body.details.error_type }, { status: 503, error_type: 'Overloaded' })
    assert.ok(Number(headers.get('retry-after')) > 0)
  }
  assert.equal((await client.request('GET', '/health/ready')).status, 200)
  assert.equal((await client.request('GET', '/core/v1/sessions')).status, 200)
  const joined = client.chat('go', { 'request-id': 'a' })
  assert.equal((await client.request('DELETE', '/core/v1/runs/a')).body.status, 'cancelled')
  assert.deepEqual([(await running).status, (await joined).status], [409, 409])
  assert.equal((await client.request('POST', '/core/v1/tool/execute', execute)).status, 200)
})
