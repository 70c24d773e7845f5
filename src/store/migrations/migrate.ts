import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * The migrations of this folder in order, named by their files. A released migration is never changed. Databases keep the names, so a number
 * is never given again: 0008 was never released.
 */
const migrations: Record<string, () => Promise<Migration>> = {
  '0001-initial': () => import('./0001-initial.ts'),
  '0002-interface': () => import('./0002-interface.ts'),
  '0003-approvals': () => import('./0003-approvals.ts'),
  '0004-shared-state': () => import('./0004-shared-state.ts'),
  '0005-run-jobs': () => import('./0005-run-jobs.ts'),
  '0006-run-tails': () => import('./0006-run-tails.ts'),
  '0007-retention': () => import('./0007-retention.ts'),
  '0009-log-counts': () => import('./0009-log-counts.ts'),
  '0010-run-losses': () => import('./0010-run-losses.ts'),
  '0011-console': () => import('./0011-console.ts'),
  '0012-run-lists': () => import('./0012-run-lists.ts'),
  '0014-artifacts-and-series': () => import('./0014-artifacts-and-series.ts'),
  '0015-tool-pins': () => import('./0015-tool-pins.ts'),
  '0016-lighter-run-lists': () => import('./0016-lighter-run-lists.ts'),
  '0017-client-tools': () => import('./0017-client-tools.ts'),
  '0018-conversations': () => import('./0018-conversations.ts'),
  '0020-task-notifications': () => import('./0020-task-notifications.ts'),
  '0023-uploads': () => import('./0023-uploads.ts'),
  '0024-knowledge': () => import('./0024-knowledge.ts'),
  '0025-search-vectors': () => import('./0025-search-vectors.ts'),
  '0026-notification-attempts': () => import('./0026-notification-attempts.ts'),
  '0027-unstored-runs': () => import('./0027-unstored-runs.ts'),
  '0028-uploads': () => import('./0028-uploads.ts'),
  '0029-runs-by-version': () => import('./0029-runs-by-version.ts'),
  '0030-document-passages': () => import('./0030-document-passages.ts'),
  '0031-tool-errors': () => import('./0031-tool-errors.ts'),
  '0032-key-creators': () => import('./0032-key-creators.ts'),
  '0033-session-search': () => import('./0033-session-search.ts'),
}

export const migrationNames: readonly string[] = Object.keys(migrations)

async function loadMigrations(): Promise<Record<string, Migration>> {
  const load = async ([name, importMigration]: [string, () => Promise<Migration>]) => [name, await importMigration()] as const
  return Object.fromEntries(await Promise.all(Object.entries(migrations).map(load)))
}

/**
 * Migrates the schema to this version, and returns the names of the executed migrations. Throws when a migration fails, or when the database
 * is newer than this program.
 */
export async function migrate(db: Kysely<never>): Promise<string[]> {
  const executed = await findExecuted(db)
  if (executed?.length === migrationNames.length && executed.every((name) => name in migrations)) return []
  // Imported on demand: most starts migrate nothing.
  const { Migrator } = await import('kysely/migration')
  const migrator = new Migrator({ db, provider: { getMigrations: loadMigrations } })
  const { error, results } = await migrator.migrateToLatest()
  if (error) throw (await findLater(db)) ?? new Error('The database could not be migrated.', { cause: error })
  return (results ?? []).map(({ migrationName }) => migrationName)
}

/** The error for a database migrated by a later version; undefined for other databases. */
async function findLater(db: Kysely<never>): Promise<Error | undefined> {
  const later = ((await findExecuted(db)) ?? []).filter((name) => !(name in migrations))
  if (later.length === 0) return undefined
  return new Error(
    `The database was migrated by a later version of agent-core (${later.join(', ')}). Start that version, or restore a backup.`,
  )
}

/** Names of the migrations that the database has had; undefined for a database without the table, or an unreadable one. */
async function findExecuted(db: Kysely<never>): Promise<string[] | undefined> {
  const table = sql<{ name: string }>`select name from kysely_migration`
  return table.execute(db).then(
    ({ rows }) => rows.map(({ name }) => name),
    () => undefined,
  )
}
