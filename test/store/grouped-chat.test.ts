import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import type { Database } from '../../src/store/database.ts'
import { openPostgres } from '../../src/store/postgres/postgres.ts'
import { beginGroup } from '../../src/store/runs/postgres-begin.ts'
import { endGroup } from '../../src/store/runs/postgres-end.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { ai, endOf, hour, human, newRun, storeOf, usesOf } from './fixture.ts'
import { byStep, chatAtOnce, turnOf, watched } from './grouped-fixture.ts'

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

/** All rows of a tenant, without its name and the keys of its sessions. */
async function rowsOf(tenant: string): Promise<object> {
  const { db } = database
  const tables = {
    sessions: await db.selectFrom('sessions').selectAll().where('tenant', '=', tenant).orderBy('session_id').execute(),
    runs: await db.selectFrom('runs').selectAll().where('tenant', '=', tenant).orderBy('request_id').execute(),
    messages: await db.selectFrom('messages').selectAll().where('tenant', '=', tenant).orderBy('session').orderBy('idx').execute(),
    tools: await db.selectFrom('run_tools').selectAll().where('tenant', '=', tenant).orderBy('request_id').orderBy('tool').execute(),
    steps: await db.selectFrom('run_steps').selectAll().where('tenant', '=', tenant).execute(),
  }
  return JSON.parse(JSON.stringify(tables).replaceAll(tenant, 'tenant'))
}

describe('Groups of chats on Postgres', () => {
  test('chats that begin or end at the same time share a statement, and are stored as step by step', async () => {
    const stored: object[] = []
    for (const { grouped, sizes } of [watched(database), { grouped: byStep(database), sizes: undefined }]) {
      const { store, tenant, metrics } = storeOf(grouped)
      const runOf = (n: number, turn: number) =>
        newRun({
          tenant,
          requestId: `r${n}-${turn}`,
          sessionId: `s${n}`,
          sessionKey: `${tenant} ${n}`,
          queueOrder: n,
          now: hour + turn,
          messages: [human(`"${n}" \\ 'é' 😀`)],
        })
      for (const turn of [0, 1]) {
        const runs = [0, 1, 2, 3].map((n) => runOf(n, turn))
        const ends = await chatAtOnce(store, runs, (n) => ({
          latencyMs: 100 + n,
          message: ai(`answer ${n}`),
          tools: n === 1 ? usesOf('a', 'b') : [],
          ...(n === 2 ? { status: 'timeout', finishReason: 'timeout', cost: 0.25 } : {}),
        }))
        assert.deepEqual(
          ends.map(({ status }) => status),
          Array(4).fill('fulfilled'),
        )
      }
      const [{ tenant: _, ...sums }] = (await metrics()) as [any]
      stored.push({ rows: await rowsOf(tenant), sums })
      if (sizes) assert.deepEqual(sizes, [4, 4, 4, 4])
    }
    assert.deepEqual(stored[0], stored[1])
  })

  test('the steps of ended runs are dropped, those of a run that may be continued are kept', async () => {
    const { store, start, tenant, count } = storeOf(watched(database).grouped)
    const started = [await start({ sessionId: 'a' }), await start({ sessionId: 'b' })]
    for (const { run } of started) await store.checkpoint(run, 1, 0, { n: 0 } as any)
    const ends = started.map(({ run, turn }, n) =>
      store.finish(
        run,
        1,
        endOf(turn, { hadCheckpoints: true, ...(n === 0 ? {} : { continuable: true, status: 'cancelled', finishReason: 'cancelled' }) }),
      ),
    )
    await Promise.all(ends)
    assert.equal(await count('run_steps'), 1)
    const hours = await database.db
      .selectFrom('metrics')
      .select(['hour', 'cancelled'])
      .where('tenant', '=', tenant)
      .where('cancelled', '>', 0)
      .execute()
    assert.deepEqual(hours, [{ hour, cancelled: 1 }], 'a run that can be continued is counted in the first row of its hour')
  })

  test('texts that Postgres refuses in JSON are stored as in chats alone', async () => {
    const { grouped, sizes } = watched(database)
    const { store, tenant } = storeOf(grouped)
    const runs = ['half \uD800', 'nul \0', 'plain'].map((text, n) => newRun({ tenant, sessionId: `s${n}`, messages: [human(text)] }))
    const begun = await Promise.all(runs.map((run) => store.begin(run)))
    const texts = await Promise.all(begun.map(async (each) => (await store.history(tenant, turnOf(each).session, 0))[0]!.content))
    assert.deepEqual([texts, sizes], [['half \uFFFD', 'nul \uFFFD', 'plain'], []])
  })

  test('chats of several tenants never share a statement', async () => {
    const { grouped, sizes } = watched(database)
    const [one, other] = [storeOf(grouped), storeOf(grouped)]
    const begun = await Promise.all([0, 1, 2, 3].map((n) => (n % 2 ? one : other).start({ sessionId: `s${n}` })))
    assert.deepEqual([begun.length, sizes, await one.count('runs'), await other.count('runs')], [4, [2, 2], 2, 2])
  })
})

test('the statements of groups look up rows by complete keys, without statistics of Postgres', async () => {
  const client = new pg.Client(url)
  await client.connect()
  await client.query(`insert into sessions (tenant, owner, session_id, key, short_name, checkpoint_id, message_count, window_start, created_at, updated_at)
    select 'uncounted', 'o', 's' || n, 'k' || n, '', '', 0, 0, 0, 0 from generate_series(1, 5000) as n`)
  await client.query(`insert into runs (tenant, owner, request_id, session_id, operation, body_hash, status, on_disconnect, holder, fence, place, agent, model,
      created_at, continuable, prompt_tokens, completion_tokens, total_tokens, latency_ms, ran_ms)
    select 'uncounted', 'o', 'r' || n, '', 'chain', '', 'running', '', 'p', 1, n, '', '', 0, 0, 0, 0, 0, 0, 0 from generate_series(1, 5000) as n`)
  await client.query(
    'set enable_hashjoin = off; set enable_mergejoin = off; set enable_seqscan = off; set plan_cache_mode = force_custom_plan',
  )
  for (const [sql, values] of [
    [beginGroup, `'uncounted', '[]'`],
    [endGroup, `'uncounted', '[]', 1`],
  ] as const) {
    await client.query(`deallocate all; prepare asked as ${sql}`)
    const { rows } = await client.query<Record<string, string>>(`explain (costs off) execute asked(${values})`)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    assert.doesNotMatch(plan, /Seq Scan|sessions_recent|sessions_of_tenant|runs_active/)
    for (const [, lookup] of plan.matchAll(/using \w+ on \w+[^\n]*\n([^\n]*)/g))
      assert.match(lookup!, /Index Cond: .*(key = |session_id = |request_id = |session = )/, plan)
  }
  await client.end()
})
