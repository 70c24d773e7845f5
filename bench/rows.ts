import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { generatedTables, type RowCounts } from './row-values.ts'

const hourMs = 3_600_000

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
    // Without triggers: quotas of uploads are not part of any list.
    await client.query('begin; set local session_replication_role = replica')
    for (const { table, columns, values, count } of generatedTables(counts, now)) {
      const { rows } = await client.query<{ name: string; definition: string }>(
        `select indexname as name, indexdef as definition from pg_indexes where tablename = $1
          and indexname not in (select conname from pg_constraint where conrelid = $1::regclass)`,
        [table],
      )
      const constraint = `select conname as name, pg_get_constraintdef(oid) as definition from pg_constraint where conrelid = $1::regclass and contype = 'p'`
      const key = (await client.query<{ name: string; definition: string }>(constraint, [table])).rows[0]!
      // The administrator's key of the service stays.
      if (table !== 'access_keys') await client.query(`truncate ${table}`)
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
    for (const { table, columns, values, count } of generatedTables(counts, now)) {
      const partQuery = `select type, name, sql from sqlite_master where type in ('index', 'trigger') and tbl_name = ? and sql is not null`
      const parts = db.prepare(partQuery).all(table) as { type: string; name: string; sql: string }[]
      db.exec('begin')
      for (const { type, name } of parts) db.exec(`drop ${type} ${name}`)
      db.exec(`insert into ${table} (${columns}) with recursive counted(n) as (select 0 union all select n + 1 from counted where n < ${count - 1})
        select ${values} from counted`)
      for (const { sql } of parts) db.exec(sql)
      db.exec('commit')
    }
    db.exec(metrics)
    db.exec('pragma journal_mode = wal')
  } finally {
    db.close()
  }
  return performance.now() - startedAt
}
