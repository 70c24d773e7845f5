import path from 'node:path'
import { messageWithCause } from '../../errors.ts'
import type { Finding } from '../../models/check-models.ts'
import type { Settings } from '../../settings/settings.ts'
import { openDatabase } from '../../store/open.ts'
import { exists } from './folders.ts'
import { toFindings as toFindingsOfPostgres } from './postgres.ts'

/** Checks the database without creating one. */
export async function checkStore(settings: Settings): Promise<Finding[]> {
  if (settings.databaseUrl !== undefined) return checkPostgres(settings.databaseUrl, settings)
  if (!(await exists(path.join(settings.dataDir, 'agent-core.db'))))
    return [{ state: 'ok', text: 'store: SQLite, created by the first start' }]
  return checkSqlite(async () => {
    const database = await openDatabase(settings)
    try {
      await database.ping()
    } finally {
      await database.close()
    }
  })
}

/** Checks that SQLite answers. `ping` opens the database if necessary. */
export async function checkSqlite(ping: () => Promise<void>): Promise<Finding[]> {
  try {
    await ping()
    return [{ state: 'ok', text: 'store: SQLite opens, and its tables are up to date' }]
  } catch (error) {
    const advice = 'Restore DATA_DIR from a backup, or use the version of agent-core that wrote it.'
    return [{ state: 'fail', text: `store: SQLite: ${messageWithCause(error)}`, advice }]
  }
}

/** Checks a Postgres server over a connection of its own. */
export async function checkPostgres(url: string, settings: Settings): Promise<Finding[]> {
  const { inspectPostgres } = await import('../../store/postgres/inspect.ts')
  try {
    return toFindingsOfPostgres(await inspectPostgres(url), settings)
  } catch (error) {
    const advice = 'Check that the server runs and that DATABASE_URL is right. Its user must be able to create tables.'
    return [{ state: 'fail', text: `store: Postgres: ${messageWithCause(error)}`, advice }]
  }
}
