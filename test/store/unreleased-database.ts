import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { joinedMigrations } from '../../src/store/migrations/unreleased-builds.ts'
import { openPostgres } from '../../src/store/postgres/postgres.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite.ts'

/** Removes what migrations after `0001-schema` have made: an unreleased build had none of them. */
const laterTables = `drop table budget_windows; drop table budget_reservations; drop table run_messages;
  drop table schedules; drop table schedule_fires; drop table schedule_media; drop table audit_events; drop table audit_heads;
  drop table datasets; drop table examples; drop table example_media; drop table experiments; drop table experiment_results;
  drop table audit_chains;
  alter table runs drop column message_ranks; alter table runs drop column open_messages; alter table runs drop column continues;
  alter table memories drop column trust; alter table approvals drop column sources; alter table approvals drop column salt;`

/** Names of migrations as a build before the first release has left them. */
function record(names: readonly string[]): string {
  const values = names.map((name) => `('${name}', '2026-11-01T00:00:00.000Z')`)
  return `${laterTables} delete from kysely_migration; insert into kysely_migration (name, timestamp) values ${values.join(', ')};`
}

/** Creates the SQLite database of `dataDir` as an unreleased build has left it, after the migration `last`, and fills it. */
export async function createUnreleasedSqlite(dataDir: string, rows = '', last = joinedMigrations.at(-1)!): Promise<void> {
  await (await openSqlite(dataDir)).close()
  const file = new DatabaseSync(path.join(dataDir, 'agent-core.db'))
  file.exec(record(joinedMigrations.slice(0, joinedMigrations.indexOf(last) + 1)) + rows)
  file.close()
}

/** Gives the empty Postgres database of `url` what an unreleased build has left, after the migration `last`, and fills it. */
export async function createUnreleasedPostgres(url: string, rows = '', last = joinedMigrations.at(-1)!): Promise<void> {
  await (await openPostgres(url, { connections: 4 })).close()
  const client = new pg.Client(url)
  await client.connect()
  await client.query(record(joinedMigrations.slice(0, joinedMigrations.indexOf(last) + 1)) + rows)
  await client.end()
}

export function executedOnSqlite(dataDir: string): string[] {
  const file = new DatabaseSync(path.join(dataDir, 'agent-core.db'))
  const rows = file.prepare(executed).all()
  file.close()
  return rows.map(({ name }) => String(name))
}

export async function executedOnPostgres(url: string): Promise<string[]> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query<{ name: string }>(executed)
  await client.end()
  return rows.map(({ name }) => name)
}

const executed = 'select name from kysely_migration order by name'
