import type { Settings } from '../settings/settings.ts'
import type { Database } from './database.ts'
import { openSqlite } from './sqlite/sqlite.ts'

type DatabaseLocation = Pick<Settings, 'databaseUrl' | 'databaseConnections' | 'dataDir'>

/** Opens Postgres when `databaseUrl` is set, else SQLite in the data directory, and migrates the schema. */
export async function openDatabase({ databaseUrl, databaseConnections: connections, dataDir }: DatabaseLocation): Promise<Database> {
  if (databaseUrl === undefined) return openSqlite(dataDir)
  // Imported on demand: the Postgres driver takes 10 MB of memory.
  const { openPostgres } = await import('./postgres/postgres.ts')
  return openPostgres(databaseUrl, { connections })
}
