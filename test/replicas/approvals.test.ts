import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import { callsIn, decide, sendTo, sending } from '../fixtures/approvals.ts'
import { until } from '../fixtures/async-client.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { outputOf } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const ids = { 'request-id': 'r1', 'session-id': 's1' }

/** Two services on a shared database, and the inputs of all tool calls. */
async function startTwo(t: TestContext) {
  const environment = { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
  const { sent, tool } = sending()
  const script = ({ body }: ModelServerRequest) => (body.messages.at(-1).role === 'tool' ? { text: 'done' } : sendTo('A', 'B'))
  const start = async () => (await startService(t, { script, tools: [tool], environment })).client
  return { here: await start(), there: await start(), sent }
}

test('a run that waits for approval belongs to no process: another process resumes it, and readers on the first process get the rest', async (t) => {
  const { here, there, sent } = await startTwo(t)
  const waiting = await here.chat('Go.', ids)
  const log = await (await here.follow('r1')).rest()
  const reader = await here.follow('r1', log.at(-1)!.id)
  assert.deepEqual((await there.chat('Go.', ids)).body, waiting.body)
  for (const call of callsIn(waiting)) assert.equal((await decide(there, 'r1', call)).status, 200)
  const rest = await reader.rest()
  assert.deepEqual(
    { outputOf: outputOf(rest), finish_reason: rest.at(-1)!.chunk.finish_reason },
    { outputOf: 'done', finish_reason: 'stop' },
  )
  const answer = await here.chat('Go.', ids)
  assert.deepEqual({ status: answer.status, sent }, { status: 200, sent: [{ to: 'A' }, { to: 'B' }] })
  assert.equal((await there.chat('Go.', ids)).text, answer.text)
})

test('two processes that decide the last two calls at once resume the run once', async (t) => {
  const { here, there, sent } = await startTwo(t)
  for (let round = 1; round <= 5; round++) {
    const id = `r${round}`
    const [first, second] = callsIn(await here.chat('Go.', { 'request-id': id }))
    const decided = await Promise.all([decide(here, id, first!), decide(there, id, second!)])
    assert.deepEqual(
      decided.map(({ status }) => status),
      [200, 200],
    )
    const { body } = await until(
      () => there.run(id),
      (run) => run.body.ended_at !== null,
    )
    assert.deepEqual({ status: body.status, sentCount: sent.length }, { status: 'success', sentCount: 2 * round })
  }
})
