import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'

/** Numbers of generated rows. The rows belong to four tenants with a thousand callers each; tenant `default` has 70 % of the rows. */
export interface RowCounts {
  sessions: number
  runs: number
}

const owners = 1000
export const spanMs = 365 * 86_400_000
const hourMs = 3_600_000

/** SQL expression for the tenant of session or run number `n`. */
function tenantOf(n: string): string {
  return `case when ${n} % 10 < 7 then 'default' else 'tenant-' || (${n} % 10) end`
}

/** SQL expression for the owner of session or run number `n`. */
function ownerOf(n: string): string {
  return `'agent-core caller-' || ((${n} / 10) % ${owners})`
}

/** Returns the session id at `share` (0 to 1, oldest first) of the sessions of caller number `caller` in tenant `default`. */
export function sessionOf(caller: number, { sessions }: RowCounts, share: number): string {
  const rounds = Math.floor(sessions / 10 / owners)
  const round = Math.min(rounds - 1, Math.max(0, Math.floor(rounds * share)))
  return `session-${(round * owners + caller) * 10}`
}

/** SQL expression for the time of row `n`: spread evenly over a year, newest last. */
function timeOf(n: string, count: number, now: number): string {
  return `${now - spanMs} + cast(${n} as bigint) * ${Math.floor(spanMs)} / ${count}`
}

const sessionColumns =
  'tenant, owner, session_id, key, short_name, checkpoint_id, active_run, message_count, window_start, created_at, updated_at'
const runColumns = `tenant, owner, request_id, session, session_id, operation, body_hash, status, on_disconnect, holder, fence, place, message_index,
  agent, model, created_at, started_at, ended_at, finish_reason, continuable, prompt_tokens, completion_tokens, total_tokens, latency_ms, ran_ms`

function sessionValues({ sessions }: RowCounts, now: number): string {
  const at = timeOf('n', sessions, now)
  return `${tenantOf('n')}, ${ownerOf('n')}, 'session-' || n, 'key-' || n, 'First question of session ' || n, 'checkpoint-' || n, null, 2, 0, ${at}, ${at}`
}

function runValues({ sessions, runs }: RowCounts, now: number): string {
  const at = timeOf('n', runs, now)
  const status = `case when n % 50 = 0 then 'error' when n % 50 = 1 then 'cancelled' else 'success' end`
  return `${tenantOf('n')}, ${ownerOf('n')}, 'request-' || n, 'key-' || (n % ${sessions}), 'session-' || (n % ${sessions}), 'chain', '', ${status}, 'cancel', '', 1, n, 0,
    'agent', 'bench', ${at} - 1200, ${at} - 1200, ${at}, 'stop', 0, 400, 120, 520, 1000 + n % 400, 0`
}

/** Aggregates ended runs into the hourly metrics. */
const metrics = `insert into metrics (tenant, hour, success, error, cancelled, timeout, prompt_tokens, completion_tokens, total_tokens, latency_ms,
    min_latency_ms, max_latency_ms)
  select tenant, ended_at - ended_at % ${hourMs}, sum(case when status = 'success' then 1 else 0 end),
    sum(case when status = 'error' then 1 else 0 end), sum(case when status = 'cancelled' then 1 else 0 end), 0,
    sum(prompt_tokens), sum(completion_tokens), sum(total_tokens), sum(latency_ms), min(latency_ms), max(latency_ms)
  from runs group by 1, 2`

/** Fills the tables of a migrated Postgres database. Indexes are built after the inserts. Returns the duration in milliseconds. */
export async function fillPostgres(url: string, counts: RowCounts, now: number): Promise<number> {
  const startedAt = performance.now()
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query('begin')
    for (const [table, columns, values, count] of [
      ['sessions', sessionColumns, sessionValues(counts, now), counts.sessions],
      ['runs', runColumns, runValues(counts, now), counts.runs],
    ] as const) {
      const { rows } = await client.query<{ name: string; definition: string }>(
        `select indexname as name, indexdef as definition from pg_indexes where tablename = $1 and indexname not like '%\\_pk'`,
        [table],
      )
      const constraint = `select conname as name, pg_get_constraintdef(oid) as definition from pg_constraint where conrelid = $1::regclass and contype = 'p'`
      const key = (await client.query<{ name: string; definition: string }>(constraint, [table])).rows[0]!
      await client.query(`truncate ${table}`)
      for (const { name } of rows) await client.query(`drop index ${name}`)
      await client.query(`alter table ${table} drop constraint ${key.name}`)
      await client.query(`insert into ${table} (${columns}) select ${values} from generate_series(0, ${count - 1}) as n`)
      await client.query(`alter table ${table} add constraint ${key.name} ${key.definition}`)
      for (const { definition } of rows) await client.query(definition)
    }
    await client.query(metrics)
    await client.query('commit')
    // Autovacuum does the same later.
    await client.query('vacuum analyze')
  } finally {
    await client.end()
  }
  return performance.now() - startedAt
}

/** Fills the tables of an embedded database. No service may have `file` open. Returns the duration in milliseconds. */
export function fillSqlite(file: string, counts: RowCounts, now: number): number {
  const startedAt = performance.now()
  const db = new DatabaseSync(file)
  try {
    db.exec('pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -400000; pragma temp_store = memory')
    for (const [table, columns, values, count] of [
      ['sessions', sessionColumns, sessionValues(counts, now), counts.sessions],
      ['runs', runColumns, runValues(counts, now), counts.runs],
    ] as const) {
      const indexQuery = `select name, sql from sqlite_master where type = 'index' and tbl_name = ? and sql is not null`
      const indexes = db.prepare(indexQuery).all(table) as { name: string; sql: string }[]
      db.exec('begin')
      for (const { name } of indexes) db.exec(`drop index ${name}`)
      db.exec(`insert into ${table} (${columns}) with recursive counted(n) as (select 0 union all select n + 1 from counted where n < ${count - 1})
        select ${values} from counted`)
      for (const { sql } of indexes) db.exec(sql)
      db.exec('commit')
    }
    db.exec(metrics)
    db.exec('pragma journal_mode = wal')
  } finally {
    db.close()
  }
  return performance.now() - startedAt
}
