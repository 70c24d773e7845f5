import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { FenceLost, type RunStore } from '../../src/runs/run-store.ts'
import pg from 'pg'
import type { Database, Scope, Connection } from '../../src/store/database.ts'
import { createRunStore } from '../../src/store/runs/runs.ts'
import { openPostgres } from '../../src/store/postgres/postgres.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { endOf, hour, newRun, running, storeOf } from './fixture.ts'

let server: PostgresServer
let database: Database
let url: string
before(async () => {
  server = await startPostgres()
  url = await server.createDatabase()
  database = await openPostgres(url)
})
after(async () => {
  await database.close()
  await server.stop()
})

/** Runs one chat of a session that others use too, from its place in the line to its end. */
async function chatInLine(store: RunStore, run: ReturnType<typeof newRun>): Promise<void> {
  const begun = await store.begin(run)
  if (begun.kind === 'known' || begun.kind === 'accepted') throw new Error(begun.kind)
  let turn = begun.kind === 'running' ? begun.turn : undefined
  while (!turn) turn = await store.takeTurn(run, run.messages, hour)
  await store.finish(run, 1, endOf(turn))
}

describe('Chats of one statement on Postgres, at once', () => {
  test('a run that joins a session queue while the active run ends is never forgotten', async () => {
    const { store, newRun: ofTenant, session, count } = storeOf(database)
    const each = Array.from({ length: 5 }, async (_, client) => {
      for (let chat = 0; chat < 12; chat++) await chatInLine(store, ofTenant({ requestId: `${client}-${chat}` }))
    })
    await Promise.all(each)
    const { active_run, message_count } = (await session())!
    assert.deepEqual([active_run, message_count, await count('messages'), await count('runs')], [null, 120, 120, 60])
  })

  test('a run taken over during its end has either ended or is resumed elsewhere, never both', async () => {
    const { store, start, metrics, count } = storeOf(database)
    let ended = 0
    for (let n = 0; n < 60; n++) {
      const { run, turn } = await start({ sessionId: `s${n}` })
      const by = { holder: 'p2', queueOrder: n, now: hour, messages: run.messages }
      const [end, taken] = await Promise.allSettled([
        store.finish(run, 1, endOf(turn)),
        store.takeOver(run, { fence: 1, status: 'running' }, by),
      ])
      assert.equal(taken.status, 'fulfilled')
      const goesOn = taken.status === 'fulfilled' && taken.value !== undefined
      assert.equal(end.status, goesOn ? 'rejected' : 'fulfilled')
      if (end.status === 'rejected') assert.ok(end.reason instanceof FenceLost)
      else ended += 1
    }
    assert.deepEqual([(await metrics())[0]?.success ?? 0, await count('messages')], [ended, 60 + ended])
  })

  test('of many concurrent requests with one id exactly one runs, whatever their sessions', async () => {
    const { store, newRun: ofTenant, count } = storeOf(database)
    const begun = await Promise.all(
      Array.from({ length: 12 }, (_, n) => store.begin(ofTenant({ requestId: 'same', sessionId: `s${n % 3}` }))),
    )
    assert.equal(begun.filter(({ kind }) => kind === 'running').length, 1)
    assert.deepEqual([await count('runs'), await count('messages'), await count('sessions')], [1, 1, 1])
  })

  test('a chat in an existing session gets the window and the summary', async () => {
    const { store, newRun: ofTenant, start, session } = storeOf(database)
    const { run, turn } = await start()
    await store.finish(run, 1, endOf(turn))
    const summary = JSON.stringify({ text: 'before' })
    await database.db.updateTable('sessions').set({ summary, window_start: 1 }).where('key', '=', turn.session).execute()
    const next = await running(store, ofTenant({ now: hour + 5 }))
    const same = { session: turn.session, windowStart: 1, summary: { text: 'before' } }
    assert.deepEqual(next, { ...same, messageIndex: 2, messageCount: 3 })
    assert.equal((await session())!.updated_at, hour + 5)
  })
})

/** A scope that says what it is asked. */
function told(scope: Scope, tell: (sql: string) => void): Scope {
  const telling = ({ execute }: Connection): Connection => ({ execute: (sql, values) => (tell(sql), execute(sql, values)) })
  return {
    read: telling(scope.read),
    write: telling(scope.write),
    unit: (work, options) => scope.unit((one) => work(telling(one)), options),
  }
}

test('no statement of a chat reads all sessions of a tenant, even without statistics of Postgres', async () => {
  const texts = new Set<string>()
  const store = createRunStore({ ...database, forTenant: (tenant) => told(database.forTenant(tenant), (sql) => texts.add(sql)) })
  const tenant = 'uncounted'
  const [first, second] = [newRun({ tenant }), newRun({ tenant })]
  const turn = await running(store, first)
  await store.begin(second)
  await store.finish(first, 1, endOf(turn))
  const next = await store.takeTurn(second, second.messages, hour)
  await store.historyOfRun(second, next!, 0)
  await store.finish(second, 1, endOf(next!))
  const client = new pg.Client(url)
  await client.connect()
  const plans: string[] = []
  for (const text of texts) {
    if (!/"sessions"/.test(text)) continue
    const { rows } = await client.query<Record<string, string>>(`explain (generic_plan, costs off) ${text}`)
    plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
  }
  await client.end()
  assert.ok(plans.length >= 7)
  for (const plan of plans) assert.doesNotMatch(plan, /Seq Scan|sessions_pk on|sessions_recent|sessions_of_tenant/)
})
