import pg from 'pg'
import { migrationNames } from '../migrations/migrate.ts'
import { joinedMigrations } from '../migrations/unreleased-builds.ts'
import { connectPostgres } from './connect.ts'
import { findRowSecurity, type RowSecurity } from './row-security.ts'

/** Properties of a Postgres server and its database, read without changing anything. */
export interface PostgresState extends RowSecurity {
  version: string
  isSupported: boolean
  /** Median round trip in milliseconds. */
  roundTripMs: number
  /** Connection limit of the whole server. */
  maxConnections: number
  /** Migrations that the next start will run; undefined: the database is empty. */
  pending: string[] | undefined
  /** Migrations of a later version of the program. */
  later: string[]
}

const sampleCount = 9

/** Inspects a Postgres server. Changes nothing. */
export async function inspectPostgres(url: string): Promise<PostgresState> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000, query_timeout: 10_000 })
  client.on('error', () => undefined)
  await connectPostgres(client)
  try {
    const { rows } = await client.query<Pick<PostgresState, 'version' | 'isSupported' | 'maxConnections'>>(
      `select current_setting('server_version') as version, current_setting('server_version_num')::int >= 140000 as "isSupported",
        current_setting('max_connections')::int as "maxConnections"`,
    )
    const done = await findMigrations(client)
    return {
      ...rows[0]!,
      roundTripMs: await measure(client),
      pending: done && migrationNames.filter((name) => !done.includes(name)),
      later: (done ?? []).filter((name) => !migrationNames.includes(name) && !joinedMigrations.includes(name)),
      ...(await findRowSecurity(client)),
    }
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** True when a start would change nothing in the database. */
export async function isPrepared(url: string): Promise<boolean> {
  const { pending, later, unprotected: open } = await inspectPostgres(url)
  return pending?.length === 0 && later.length === 0 && open.length === 0
}

async function findMigrations(client: pg.Client): Promise<string[] | undefined> {
  const { rows } = await client.query("select from pg_class where oid = to_regclass('kysely_migration')")
  if (rows.length === 0) return undefined
  return (await client.query<{ name: string }>('select name from kysely_migration')).rows.map(({ name }) => name)
}

async function measure(client: pg.Client): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < sampleCount; n++) {
    const startedAt = performance.now()
    await client.query('select 1')
    times.push(performance.now() - startedAt)
  }
  return times.sort((a, b) => a - b)[sampleCount >> 1]!
}
