import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { openDatabase } from '../../src/store/open.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import { until } from '../fixtures/async-client.ts'
import type { ModelAnswer } from '../fixtures/model-server.ts'
import type { Client, StreamEvent } from '../fixtures/service-client.ts'
import { startService, type ServiceOptions, type TestService } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'

/** Every way in which a run can end: its readers, its row, the metrics and the log must report the same single end. */

interface Expected {
  /** `finish_reason` of the last chunk. */
  reason: string
  status: 'success' | 'error' | 'cancelled' | 'timeout'
}

const ids = { 'session-id': 's', 'request-id': 'r' }

/** A service for one case; `operator` reads its metrics. */
async function startCase(t: TestContext, options: ServiceOptions) {
  const service = await startService(t, options)
  const operator = await service.as({ roles: ['operator'] })
  return { ...service, operator }
}

function assertOneEnd(events: readonly StreamEvent[], { reason }: Expected): void {
  const ends = events.filter(({ chunk }) => chunk.finish_reason !== 'null')
  assert.deepEqual(
    ends.map(({ chunk }) => chunk.finish_reason),
    [reason],
  )
  assert.equal(events.at(-1), ends[0])
  assert.deepEqual({ agent_step: ends[0]!.chunk.agent_step, token: ends[0]!.chunk.token }, { agent_step: 'answer', token: '' })
  assert.deepEqual(
    events.map(({ id }) => id),
    events.map((_, n) => `r:${n + 1}`),
  )
}

/** Run `r` counts exactly once, and its replay equals what its reader received. */
async function assertRecorded(client: Client, operator: Client, expected: Expected, seen?: readonly StreamEvent[]): Promise<void> {
  const { status, ended_at } = (await client.run('r')).body
  assert.deepEqual([status, typeof ended_at], [expected.status, 'string'])
  const counts = { success: 0, error: 0, cancelled: 0, timeout: 0, [expected.status]: 1 }
  const metrics = (await operator.request('GET', '/core/v1/metrics')).body
  assert.deepEqual(
    { status_value_counts: metrics.status_value_counts, total_requests: metrics.total_requests },
    { status_value_counts: counts, total_requests: 1 },
  )
  const logs = (await operator.request('GET', '/core/v1/logs')).body
  const entries = JSON.parse(logs.data)
  assert.deepEqual(
    entries.map(({ id, status }: { id: string; status: string }) => [id, status]),
    [['r', expected.status]],
  )
  assert.equal(entries[0].end_time, Date.parse(ended_at))
  assert.equal(entries[0].total_tokens, metrics.total_tokens)
  const replay = await (await client.follow('r')).rest()
  if (seen) assert.deepEqual(replay, seen)
  if (replay.length > 0) assertOneEnd(replay, expected)
}

const answers: {
  name: string
  script: ModelAnswer | ModelAnswer[]
  config?: Record<string, unknown>
  expected: Expected
  messages: number
}[] = [
  { name: 'stop', script: { text: 'ok', usage: { input: 3, output: 2 } }, expected: { reason: 'stop', status: 'success' }, messages: 2 },
  { name: 'length', script: { text: 'cut', finish: 'length' }, expected: { reason: 'length', status: 'success' }, messages: 2 },
  {
    name: 'content_filter',
    script: { text: 'no', finish: 'content_filter' },
    expected: { reason: 'content_filter', status: 'success' },
    messages: 2,
  },
  {
    name: 'max_iterations',
    script: [callOf('look'), { text: 'best so far' }],
    config: { max_iterations: 2 },
    expected: { reason: 'max_iterations', status: 'success' },
    messages: 2,
  },
  {
    name: 'timeout',
    script: { text: ['a', 'b'], silentAfter: 2 },
    config: { max_execution_time: 0.3 },
    expected: { reason: 'timeout', status: 'timeout' },
    messages: 2,
  },
]

for (const { name, script, config, expected, messages } of answers) {
  test(`Streaming: a run that ends by ${name} has one end, equal in every view`, async (t) => {
    const { client, operator } = await startCase(t, { tools: [fakeTool('look', async () => ({}))], script, ...(config && { config }) })
    const events = await (await client.stream('go', ids)).rest()
    assertOneEnd(events, expected)
    await assertRecorded(client, operator, expected, events)
    assert.equal((await client.session('s')).body.messages.length, messages)
  })
}

test('Streaming: a model that breaks during its answer gives one end with the error', async (t) => {
  const { client, operator } = await startCase(t, {
    script: (_, index) => (index === 0 ? { text: ['a', 'b', 'c'], breakAfter: 3 } : { status: 400, body: {} }),
  })
  const expected: Expected = { reason: 'error', status: 'error' }
  const events = await (await client.stream('go', ids)).rest()
  assertOneEnd(events, expected)
  assert.equal(events.at(-1)!.chunk.error?.details?.error_type, 'ModelUnavailable')
  await assertRecorded(client, operator, expected, events)
  assert.equal((await client.session('s')).body.messages.length, 1)
})

test('Streaming: a model that fails before the first chunk is an HTTP error and one end', async (t) => {
  const { client, operator } = await startCase(t, { script: { status: 400, body: {} } })
  assert.equal((await client.stream('go', ids)).status, 502)
  const { status } = (await client.run('r')).body
  assert.equal(status, 'error')
  const logs = JSON.parse((await operator.request('GET', '/core/v1/logs')).body.data)
  assert.equal(logs.length, 1)
  assert.match(logs[0].error, /No model could answer/)
  assert.equal((await operator.request('GET', '/core/v1/metrics')).body.total_errors, 1)
})

test('Streaming: a run that is cancelled while running has one end', async (t) => {
  const gate = gatedTool('wait')
  const { client, operator } = await startCase(t, { tools: [gate.tool], script: { ...callOf('wait'), text: 'Let me see.' } })
  const stream = await client.stream('go', ids)
  await gate.entered
  assert.equal((await client.request('DELETE', '/core/v1/runs/r')).body.status, 'cancelled')
  const expected: Expected = { reason: 'cancelled', status: 'cancelled' }
  const events = await stream.rest()
  assertOneEnd(events, expected)
  await assertRecorded(client, operator, expected, events)
  assert.equal((await client.request('DELETE', '/core/v1/runs/r')).body.details.error_type, 'RunEnded')
})

test('Streaming: a run that is cancelled while queued has one end and no message', async (t) => {
  const gate = gatedTool('wait')
  const { client, operator } = await startCase(t, { tools: [gate.tool], script: [callOf('wait'), { text: 'done' }] })
  const first = client.chat('first', { 'session-id': 's', 'request-id': 'first' })
  await gate.entered
  const waiting = client.chat('go', ids)
  await until(async () => (await client.run('r')).body.status === 'pending', Boolean)
  assert.equal((await client.request('DELETE', '/core/v1/runs/r')).body.status, 'cancelled')
  const { status, body } = await waiting
  assert.deepEqual({ status, error_type: body.details.error_type }, { status: 409, error_type: 'Cancelled' })
  await assertRecorded(client, operator, { reason: 'cancelled', status: 'cancelled' })
  gate.open()
  assert.equal((await first).status, 200)
  assert.equal((await client.session('s')).body.messages.length, 2)
})

test('Streaming: a run whose client disconnected has one end and keeps its partial result', async (t) => {
  const gate = gatedTool('wait')
  const { client, operator } = await startCase(t, {
    tools: [gate.tool],
    script: { ...callOf('wait'), text: 'Let me see.' },
    config: { limits: { reconnect_grace: 0 } },
  })
  const stream = await client.stream('go', ids)
  await gate.entered
  stream.leave()
  await gate.cancelled
  await until(async () => (await client.run('r')).body.ended_at !== null, Boolean)
  await assertRecorded(client, operator, { reason: 'cancelled', status: 'cancelled' })
})

test('Streaming: a run whose session is deleted has one end and leaves no data', async (t) => {
  const gate = gatedTool('wait')
  const { client, operator } = await startCase(t, { tools: [gate.tool], script: { ...callOf('wait'), text: 'Let me see.' } })
  const stream = await client.stream('go', ids)
  await gate.entered
  assert.equal((await client.request('DELETE', '/core/v1/sessions/s')).status, 200)
  assertOneEnd(await stream.rest(), { reason: 'cancelled', status: 'cancelled' })
  await assertNothingLeft({ client, operator })
})

test('Streaming: a run whose session vanishes ends as gone for its reader and leaves no data', async (t) => {
  const gate = gatedTool('wait')
  const { client, operator, settings, service } = await startCase(t, {
    tools: [gate.tool],
    script: [{ ...callOf('wait'), text: 'Let me see.' }, { text: 'done' }],
  })
  const stream = await client.stream('go', ids)
  await gate.entered
  const waiting = client.chat('next', { 'session-id': 's', 'request-id': 'next' })
  await until(async () => (await client.run('next')).body.status === 'pending', Boolean)
  await deleteBeside(settings)
  gate.open()
  const events = await stream.rest()
  assertOneEnd(events, { reason: 'error', status: 'error' })
  assert.deepEqual(
    { status_code: events.at(-1)!.chunk.error?.status_code, error_type: events.at(-1)!.chunk.error?.details?.error_type },
    { status_code: 410, error_type: 'Gone' },
  )
  await assertNothingLeft({ client, operator })
  assert.ok(service.app)
  // The queued run is gone with its session.
  assert.equal((await client.request('DELETE', '/core/v1/runs/next')).status, 410)
  assert.deepEqual(
    { status: (await waiting).status, error_type: (await waiting).body.details.error_type },
    { status: 410, error_type: 'Gone' },
  )
})

/** Acts as another process that shares the database. */
async function deleteBeside(settings: TestService['settings']): Promise<void> {
  const database = await openDatabase(settings)
  try {
    const who = { tenant: 'default', owner: 'agent-core ann' }
    assert.ok(await createSessionStore(database).remove(who, 's', { jobId: 'job', now: Date.now() }))
  } finally {
    await database.close()
  }
}

async function assertNothingLeft({ client, operator }: { client: Client; operator: Client }): Promise<void> {
  assert.equal((await client.run('r')).status, 410)
  assert.equal((await client.session('s')).status, 404)
  assert.equal((await operator.request('GET', '/core/v1/logs')).body.total, 0)
}
