import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { adoptUnreleased } from './unreleased-builds.ts'

/**
 * The migrations of this folder in order, named by their files. A released migration is never changed. Databases keep the names, so a number
 * is never given again. Builds before the first release used the numbers up to 0033.
 */
const migrations: Record<string, () => Promise<Migration>> = {
  '0001-schema': () => import('./0001-schema.ts'),
  '0034-budgets': () => import('./0034-budgets.ts'),
  '0035-schedules': () => import('./0035-schedules.ts'),
  '0036-steering': () => import('./0036-steering.ts'),
  '0037-light-reservations': () => import('./0037-light-reservations.ts'),
  '0038-containment': () => import('./0038-containment.ts'),
  '0039-audit': () => import('./0039-audit.ts'),
  '0040-evals': () => import('./0040-evals.ts'),
}

export const migrationNames: readonly string[] = Object.keys(migrations)

async function loadMigrations(): Promise<Record<string, Migration>> {
  const load = async ([name, importMigration]: [string, () => Promise<Migration>]) => [name, await importMigration()] as const
  return Object.fromEntries(await Promise.all(Object.entries(migrations).map(load)))
}

/**
 * Migrates the schema to this version, and returns the names of the executed migrations. Throws when a migration fails, or when the database
 * is newer than this program, or of an older unreleased build.
 */
export async function migrate(db: Kysely<never>): Promise<string[]> {
  const executed = await findExecuted(db)
  if (executed?.length === migrationNames.length && executed.every((name) => name in migrations)) return []
  await adoptUnreleased(db, executed ?? [])
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
