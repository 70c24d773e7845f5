import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../../src/errors.ts'
import { FenceLost } from '../../src/runs/run-store.ts'
import { CommitUnknown, type Database } from '../../src/store/database.ts'
import { openPostgres } from '../../src/store/postgres/postgres.ts'
import { once, startProxy, type Fate, type PostgresProxy } from '../fixtures/postgres-proxy.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { endOf, storeOf } from '../store/fixture.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

type Options = Parameters<typeof openPostgres>[1]

async function open(t: TestContext, options: Options = {}): Promise<{ database: Database; proxy: PostgresProxy }> {
  const proxy = await startProxy(await server.createDatabase())
  const database = await openPostgres(proxy.url, { connections: 2, ...options })
  t.after(async () => {
    await database.close()
    proxy.close()
  })
  return { database, proxy }
}

const lock = (session: string) => ["insert into memory_owners values ('a', $1, 1)", [session]] as const
const rowsOf = async (database: Database) => (await database.all.read.execute('select 1 from memory_owners', [])).rows.length

function isAway(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'store_unavailable' && error.retryAfter !== undefined
}

/** Transaction whose commit has the given fate. */
async function unitWith(fate: Fate, { database, proxy }: { database: Database; proxy: PostgresProxy }) {
  let times = 0
  proxy.decide(once(/commit/, fate))
  const value = await database.forTenant('a').unit(async (connection) => {
    await connection.execute(...lock('o'))
    return ++times
  })
  return { value, times, rows: await rowsOf(database) }
}

test('a transaction whose commit did not reach the server is retried', async (t) => {
  assert.deepEqual(await unitWith('cut before', await open(t)), { value: 2, times: 2, rows: 1 })
})

test('a transaction stored before its connection broke is not retried, and succeeds', async (t) => {
  assert.deepEqual(await unitWith('cut behind', await open(t)), { value: 1, times: 1, rows: 1 })
})

test('a missing answer to a commit is not awaited forever', async (t) => {
  assert.deepEqual(await unitWith('silence', await open(t, { answerMs: 500 })), { value: 1, times: 1, rows: 1 })
})

test('reads, and transactions that break before their commit, are retried on another connection', async (t) => {
  const { database, proxy } = await open(t)
  for (const fate of ['cut before', 'cut behind'] as const) {
    proxy.decide(once(/memory_owners/, fate))
    assert.equal(await rowsOf(database), 0)
    proxy.decide(once(/insert/, fate))
    await database.forTenant('a').unit((connection) => connection.execute(...lock(fate)))
    await database.forTenant('a').unit((connection) => connection.execute('delete from memory_owners where owner = $1', [fate]))
  }
})

test('a single statement is not retried: its caller gets an error about the unknown outcome', async (t) => {
  const { database, proxy } = await open(t)
  proxy.decide(once(/insert/, 'cut behind'))
  await assert.rejects(database.forTenant('a').write.execute(...lock('o')), CommitUnknown)
  assert.equal(await rowsOf(database), 1)
})

test('a transaction aborted by a deadlock is retried, a cancelled slow query is not', async (t) => {
  const { database } = await open(t)
  let times = 0
  const value = await database.forTenant('a').unit(async (connection) => {
    if (++times === 1) await connection.execute("do $$ begin raise exception using errcode = 'deadlock_detected'; end $$", [])
    return times
  })
  assert.equal(value, 2)
  const slow = database.forTenant('a').unit(async (connection) => {
    await connection.execute("set local statement_timeout = '10ms'", [])
    await connection.execute('select pg_sleep(10)', [])
  })
  await assert.rejects(slow, isAway)
})

test('a transaction that continues after a failed query is not reported as stored', async (t) => {
  const { database } = await open(t)
  const unit = database.forTenant('a').unit(async (connection) => {
    await connection.execute(...lock('o'))
    await connection.execute('select 1 / 0', []).catch(() => undefined)
  })
  await assert.rejects(unit, /nothing was stored/)
  assert.equal(await rowsOf(database), 0)
})

test('a brief outage of the server is awaited; a longer outage is an error, and ends without a restart', async (t) => {
  const { database, proxy } = await open(t)
  proxy.decide(() => 'cut before')
  await assert.rejects(database.ping(), isAway)
  await assert.rejects(
    database.forTenant('a').unit((connection) => connection.execute(...lock('p')), { retryForMs: 200 }),
    isAway,
  )
  const asked = [rowsOf(database), database.forTenant('a').unit((connection) => connection.execute(...lock('o')))]
  await sleep(300)
  proxy.decide(() => 'passed')
  await Promise.all(asked)
  await database.ping()
  assert.equal(await rowsOf(database), 1)
})

test('the store reconnects to a restarted server', async (t) => {
  const { database } = await open(t)
  await database.forTenant('a').unit((connection) => connection.execute(...lock('o')))
  const restarted = server.restart()
  const asked = Array.from({ length: 20 }, (_, n) => database.forTenant('a').unit((connection) => connection.execute(...lock(`o${n}`))))
  await Promise.all([restarted, ...asked])
  assert.equal(await rowsOf(database), 21)
})

test('waiting for a free connection ends with an error', async (t) => {
  const { database } = await open(t, { connections: 1 })
  const ask = () => database.forTenant('b').unit((connection) => connection.execute('select 1', []), { retryForMs: 0 })
  await database.forTenant('a').unit(() => assert.rejects(ask(), isAway))
  await ask()
})

test('a run whose start was stored without an answer belongs to its process, once', async (t) => {
  const { database, proxy } = await open(t)
  const { store, newRun, session, count } = storeOf(database)
  const run = newRun()
  proxy.decide(once(/insert into "runs"/, 'cut behind'))
  const begun = await store.begin(run)
  const turn = { session: run.sessionKey, messageIndex: 0, messageCount: 1, windowStart: 0 }
  assert.deepEqual(begun, { kind: 'running', fence: 1, turn })
  assert.deepEqual([await count('messages'), await count('runs'), (await session())?.active_run], [1, 1, run.requestId])
  assert.equal((await store.begin(run)).kind, 'known')
  const other = newRun()
  proxy.decide(once(/insert into "runs"/, 'cut before'))
  assert.deepEqual(await store.begin(other), { kind: 'waiting', fence: 1 })
})

test('a run whose end was stored without an answer has ended, once', async (t) => {
  const { database, proxy } = await open(t)
  const { store, start, texts, metrics } = storeOf(database)
  for (const fate of ['cut before', 'cut behind'] as const) {
    const { run, turn } = await start({ sessionId: fate })
    proxy.decide(once(/update "sessions"|seen/, fate))
    assert.equal(await store.finish(run, 1, endOf(turn)), undefined)
    assert.deepEqual(await texts(turn.session), ['0 hello', '1 answer'])
    await assert.rejects(store.finish(run, 1, endOf(turn, { endedAt: 1 })), FenceLost)
  }
  assert.equal(
    (await metrics()).reduce((sum, { success }) => sum + success, 0),
    2,
  )
})
