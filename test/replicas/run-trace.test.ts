import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { cancel } from '../fixtures/approvals.ts'
import { until } from '../fixtures/async-client.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'
import { draw, traceOf } from '../fixtures/trace.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const ids = { 'request-id': 'r1', 'session-id': 's1' }

test('a live run is traced by every process', async (t) => {
  const environment = { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
  const gate = gatedTool('wait')
  const tools = [gate.tool, fakeTool('look', async () => 'seen')]
  const model = Promise.withResolvers<void>()
  const calls = { calls: [...callOf('look').calls, ...callOf('wait').calls] }
  const script = [calls, { text: ['Do', 'ne.'], begins: model.promise }]
  const config = { limits: { reconnect_grace: 1 } }
  const start = async () => (await startService(t, { script, tools, environment, config })).client
  const [here, there] = [await start(), await start()]
  const chat = here.chat('Go.', ids)
  await gate.entered
  const inTool = [
    'run chain: running',
    '  turn Turn 1: running',
    '    model scripted: success',
    '    tool look: success',
    '    tool wait: running',
  ]
  const seen = await until(
    () => traceOf(there, 'r1'),
    ({ spans }) => spans.length === inTool.length && draw(spans).join() === inTool.join(),
  )
  assert.deepEqual(draw(seen.spans), inTool)
  gate.open()
  const inModel = [
    'run chain: running',
    '  turn Turn 1: success',
    '    model scripted: success',
    '    tool look: success',
    '    tool wait: success',
    '  turn Turn 2: running',
  ]
  await until(
    () => traceOf(there, 'r1'),
    ({ spans }) => draw(spans).slice(0, inModel.length).join() === inModel.join(),
  )
  model.resolve()
  assert.equal((await chat).body.body.output, 'Done.')
  assert.deepEqual((await traceOf(there, 'r1')).spans, (await traceOf(here, 'r1')).spans)
})

test('a run without its client ends by its grace, also while another process shows its trace', async (t) => {
  const environment = { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
  const gate = gatedTool('wait')
  const options = { script: callOf('wait'), tools: [gate.tool], environment, config: { limits: { reconnect_grace: 1 } } }
  const [here, there] = [(await startService(t, options)).client, (await startService(t, options)).client]
  const leaving = new AbortController()
  const chat = here.chat('Go.', ids, leaving.signal).catch(() => undefined)
  await gate.entered
  await traceOf(there, 'r1')
  leaving.abort()
  await chat
  const { status } = await until(
    () => traceOf(there, 'r1'),
    (trace) => trace.status !== 'running',
  )
  assert.equal(status, 'cancelled')
  assert.equal((await cancel(there, 'r1')).status, 409)
})
