import assert from 'node:assert/strict'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../fixtures/async-client.ts'
import { startService, type TestService } from '../fixtures/service.ts'
import { callOf, gatedTool } from '../fixtures/tools.ts'

/** Another connection to the service's database, as the command line opens one. */
function openBeside(t: TestContext, { settings }: TestService): DatabaseSync {
  const database = new DatabaseSync(path.join(settings.dataDir, 'agent-core.db'), { timeout: 5000 })
  t.after(() => database.close())
  return database
}

test('an answer is sent only when stored, and not while the database is locked', async (t) => {
  const gate = gatedTool('wait')
  const service = await startService(t, {
    tools: [gate.tool],
    script: [callOf('wait'), callOf('wait'), { text: 'kept' }, { text: 'kept' }],
  })
  const { client } = service
  const chat = client.chat('go', { 'session-id': 's1' })
  const stream = await client.stream('go', { 'session-id': 's2', 'request-id': 'r2' })
  await until(async () => gate.inputs.length >= 2, Boolean)
  const beside = openBeside(t, service)
  beside.exec('begin immediate')
  gate.open()
  const told: string[] = []
  void chat.then(() => told.push('chain'))
  const streamed = stream.rest().then((events) => {
    told.push('stream')
    return events
  })
  await until(async () => service.model.requests.length >= 4, Boolean)
  // Time enough to answer, if it did not wait for its commit.
  await sleep(200)
  assert.deepEqual(told, [])
  beside.exec('rollback')
  assert.equal((await chat).body.body.output, 'kept')
  assert.equal((await streamed).at(-1)?.chunk.finish_reason, 'stop')
})

test('an end that cannot be stored is an error, stored as soon as possible; a repeated request resumes', async (t) => {
  const service = await startService(t, { script: { text: 'kept' } })
  const { client, log } = service
  const beside = openBeside(t, service)
  // The finishing transaction fails at its last statement; that which begins a chat does not need the table.
  beside.exec('alter table metrics rename to away')
  const ids = { 'session-id': 's', 'request-id': 'r' }
  const failed = await client.chat('go', ids)
  assert.deepEqual(
    { status: failed.status, body: failed.body.body, details: failed.body.details },
    { status: 500, body: 'Internal server error.', details: { error_type: 'Exception' } },
  )
  const streamed = await client.stream('go', { 'session-id': 's2', 'request-id': 'r2' })
  const last = (await streamed.rest()).at(-1)?.chunk
  assert.deepEqual(
    { finish_reason: last?.finish_reason, status_code: last?.error?.status_code },
    { finish_reason: 'error', status_code: 500 },
  )
  assert.ok(log.some((line) => line.includes('"requestId":"r"') && line.includes('metrics')))
  beside.exec('alter table away rename to metrics')
  await until(async () => (await client.run('r')).body.status !== 'running', Boolean)
  assert.equal((await client.run('r')).body.status, 'error')
  assert.deepEqual(
    (await client.session('s')).body.messages.map((message: { content: string }) => message.content),
    ['go'],
  )
  assert.equal((await client.chat('go', ids)).body.body.output, 'kept')
  assert.deepEqual(
    (await client.session('s')).body.messages.map((message: { content: string }) => message.content),
    ['go', 'kept'],
  )
})

test('a chat that cannot be stored is refused with a 500 before the model call, and may be repeated', async (t) => {
  const service = await startService(t, { script: {} })
  const { client, model } = service
  const beside = openBeside(t, service)
  beside.exec('alter table messages rename to away')
  const ids = { 'session-id': 's', 'request-id': 'r' }
  assert.equal((await client.chat('go', ids)).status, 500)
  assert.equal((await client.stream('go', ids)).status, 500)
  assert.equal(model.requests.length, 0)
  beside.exec('alter table away rename to messages')
  assert.equal((await client.chat('go', ids)).status, 200)
  assert.equal((await client.session('s')).body.messages.length, 2)
})
