import type { Settings } from '../settings/settings.ts'
import type { Database } from './database.ts'
import { openSqlite } from './sqlite/sqlite.ts'

type DatabaseLocation = Pick<Settings, 'databaseUrl' | 'databaseConnections' | 'dataDir'>

/** Postgres where an address is given, else SQLite in the data directory; the schema is up to date. */
export async function openDatabase({ databaseUrl, databaseConnections: connections, dataDir }: DatabaseLocation): Promise<Database> {
  if (databaseUrl === undefined) return openSqlite(dataDir)
  // Its driver costs 10 MB that nobody else needs.
  const { openPostgres } = await import('./postgres/postgres.ts')
  return openPostgres(databaseUrl, { connections })
}
