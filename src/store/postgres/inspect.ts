import pg from 'pg'
import { migrationNames } from '../migrations/migrate.ts'
import { connectPostgres } from './connect.ts'
import { findRowSecurity, type RowSecurity } from './row-security.ts'

/** What a server and its database are like, before anything is made there. */
export interface PostgresState extends RowSecurity {
  version: string
  isSupported: boolean
  /** Of an answer, the median of some. */
  roundTripMs: number
  /** Of the whole server. */
  maxConnections: number
  /** Undefined: nothing has been made yet. Else what the next start has to do. */
  pending: string[] | undefined
  /** Migrations of a later version of the program. */
  later: string[]
}

const sampleCount = 9

/** Looks at a Postgres server. Changes nothing. */
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
      later: (done ?? []).filter((name) => !migrationNames.includes(name)),
      ...(await findRowSecurity(client)),
    }
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Whether a start would change nothing there. */
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
