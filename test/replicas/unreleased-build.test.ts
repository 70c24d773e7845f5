import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import pg from 'pg'
import { callsIn, decide, sendTo, sending } from '../fixtures/approvals.ts'
import { event, sendEvent, until } from '../fixtures/async-client.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { outputOf, type Client } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'
import { createUnreleasedPostgres } from '../store/unreleased-database.ts'
import { startUnreleasedProcess } from '../store/unreleased-process.ts'

let server: PostgresServer
before(async () => void (server = await startPostgres()))
after(() => server.stop())

test('two processes take over the database of an unreleased build and work on it, while a process of that build goes on', async (t) => {
  const url = await server.createEmptyDatabase()
  await createUnreleasedPostgres(url)
  const old = await startUnreleasedProcess(url, 'old')
  const lost = await startUnreleasedProcess(url, 'lost', { isLost: true })
  t.after(() => Promise.all([old.close(), lost.close()]))
  await old.begin('spanning')
  await lost.begin('left-behind')
  const stopWork = old.work()
  const [here, there] = await startTwo(t, url)
  await Promise.all(Array.from({ length: 8 }, (_, n) => converse(n, [here, there][n % 2]!, [there, here][n % 2]!)))
  await old.finish('spanning')
  const ended = ['spanning', ...(await stopWork())]
  const some = ended.filter((_, n) => n % Math.ceil(ended.length / 20) === 0)
  for (const requestId of some) assert.deepEqual(await answerIn(here, `of-${requestId}`), `old answer to ${requestId}`)
  const { body } = await until(
    () => there.run('left-behind'),
    (run) => run.body.ended_at !== null,
  )
  assert.deepEqual({ status: body.status, output: body.outcome.output }, { status: 'success', output: 'answer to left-behind' })
  const [counts] = await query(
    url,
    `select (select count(*)::int from runs where status = 'success') as runs, (select sum(success)::int from metrics) as counted,
       (select count(*)::int from sessions where active_run is not null) as held`,
  )
  // Eight conversations of four chats each, and the run of the lost process.
  assert.deepEqual(counts, { runs: ended.length + 33, counted: ended.length + 33, held: 0 })
})

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query(sql)
  await client.end()
  return rows
}

/** Two services that start at the same time. */
async function startTwo(t: TestContext, url: string): Promise<[Client, Client]> {
  const environment = { DATABASE_URL: url, SECRET_KEY: 'x'.repeat(32) }
  const script = ({ body }: ModelServerRequest) => {
    const last = body.messages.at(-1)
    if (last.role === 'tool') return { text: 'sent' }
    return last.content.startsWith('send') ? sendTo('A') : { text: `answer to ${last.content}` }
  }
  const start = async () => (await startService(t, { script, tools: [sending().tool], environment })).client
  return Promise.all([start(), start()])
}

/** Four chats in one session, of which each is answered, followed or decided through the other process. */
async function converse(n: number, one: Client, other: Client): Promise<void> {
  const ids = (way: string) => ({ 'request-id': `${way}-${n}`, 'session-id': `s${n}` })
  const json = await one.chat(`json ${n}`, ids('json'))
  assert.deepEqual({ status: json.status, output: json.body.body.output }, { status: 200, output: `answer to json ${n}` })
  const stream = await (await other.stream(`stream ${n}`, ids('stream'))).rest()
  assert.deepEqual(await (await one.follow(`stream-${n}`)).rest(), stream)
  assert.equal(outputOf(stream), `answer to stream ${n}`)
  const waiting = await one.chat(`send ${n}`, ids('send'))
  assert.equal((await decide(other, `send-${n}`, callsIn(waiting)[0]!)).status, 200)
  const accepted = await sendEvent(one, event(`async-${n}`, { messages: [{ role: 'user', content: `async ${n}` }] }), ids('async'))
  assert.equal(accepted.status, 200)
  await until(
    () => other.run(`async-${n}`),
    (run) => run.body.ended_at !== null,
  )
  const { body } = await other.session(`s${n}`)
  assert.deepEqual(
    body.messages.filter(({ role }: { role: string }) => role === 'ai').map(({ content }: { content: string }) => content),
    [`answer to json ${n}`, `answer to stream ${n}`, 'sent', `answer to async ${n}`],
  )
}

async function answerIn(client: Client, sessionId: string): Promise<string> {
  const { body } = await client.session(sessionId)
  return body.messages.at(-1).content
}
