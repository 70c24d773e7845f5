import { readdirSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { sql, type Kysely } from 'kysely'
import { Migrator, type Migration } from 'kysely/migration'

/**
 * The migrations of this folder in order, named by their files without the ending. A released migration is never changed. Databases keep
 * the names, so a number is never given again: 0008 was never released.
 */
export const migrationNames: readonly string[] = readdirSync(import.meta.dirname)
  .filter((file) => /^\d{4}-/.test(file) && path.extname(file) === path.extname(import.meta.filename))
  .map((file) => path.parse(file).name)
  .toSorted()

async function loadMigrations(): Promise<Record<string, Migration>> {
  const load = async (name: string) => {
    const file = path.join(import.meta.dirname, name + path.extname(import.meta.filename))
    return [name, (await import(pathToFileURL(file).href)) as Migration] as const
  }
  return Object.fromEntries(await Promise.all(migrationNames.map(load)))
}

/**
 * Migrates the schema to this version, and returns the names of the executed migrations. Throws when a migration fails, or when the database
 * is newer than this program.
 */
export async function migrate(db: Kysely<never>): Promise<string[]> {
  const migrator = new Migrator({ db, provider: { getMigrations: loadMigrations } })
  const { error, results } = await migrator.migrateToLatest()
  if (error) throw (await findLater(db)) ?? new Error('The database could not be migrated.', { cause: error })
  return (results ?? []).map(({ migrationName }) => migrationName)
}

/** The error for a database migrated by a later version; undefined for other databases. */
async function findLater(db: Kysely<never>): Promise<Error | undefined> {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db).catch(() => ({ rows: [] }))
  const later = rows.map(({ name }) => name).filter((name) => !migrationNames.includes(name))
  if (later.length === 0) return undefined
  return new Error(
    `The database was migrated by a later version of agent-core (${later.join(', ')}). Start that version, or restore a backup.`,
  )
}
