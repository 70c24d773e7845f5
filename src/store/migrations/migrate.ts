import { sql, type Kysely } from 'kysely'
import { Migrator, type Migration } from 'kysely/migration'
import * as initial from './0001-initial.ts'
import * as wholeInterface from './0002-interface.ts'
import * as approvals from './0003-approvals.ts'
import * as sharedState from './0004-shared-state.ts'
import * as runJobs from './0005-run-jobs.ts'
import * as runTails from './0006-run-tails.ts'
import * as retention from './0007-retention.ts'
import * as logCounts from './0009-log-counts.ts'
import * as runLosses from './0010-run-losses.ts'

/** In order; a migration that was released is never changed. */
const migrations: Record<string, Migration> = {
  '0001-initial': initial,
  '0002-interface': wholeInterface,
  '0003-approvals': approvals,
  '0004-shared-state': sharedState,
  '0005-run-jobs': runJobs,
  '0006-run-tails': runTails,
  '0007-retention': retention,
  '0009-log-counts': logCounts,
  '0010-run-losses': runLosses,
}

export const migrationNames: readonly string[] = Object.keys(migrations)

/**
 * Brings the schema to this version, and answers with the migrations that this took. Throws when it can't, also when the database is
 * newer than this program.
 */
export async function migrate(db: Kysely<never>): Promise<string[]> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } })
  const { error, results } = await migrator.migrateToLatest()
  if (error) throw (await findLater(db)) ?? new Error('The database could not be migrated.', { cause: error })
  return (results ?? []).map(({ migrationName }) => migrationName)
}

/** What to say of a database that a later version has migrated; undefined where none has. */
async function findLater(db: Kysely<never>): Promise<Error | undefined> {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db).catch(() => ({ rows: [] }))
  const later = rows.map(({ name }) => name).filter((name) => !migrationNames.includes(name))
  if (later.length === 0) return undefined
  return new Error(`The database is of a later version of agent-core (${later.join(', ')}): start that one, or restore a backup.`)
}
