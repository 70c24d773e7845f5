import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import { Migrator, type Migration } from 'kysely/migration'
import pg from 'pg'
import { migrationNames } from '../../src/store/migrations/migrate.ts'

/** Creates the SQLite database of `dataDir` with the schema of an older version, which ended with the migration `last`, and fills it. */
export async function createOlderSqlite(dataDir: string, last: string, rows: string): Promise<void> {
  mkdirSync(dataDir)
  const file = new DatabaseSync(path.join(dataDir, 'agent-core.db'))
  const prepare = (text: string) => {
    const statement = file.prepare(text)
    return {
      reader: statement.columns().length > 0,
      all: (values: readonly unknown[]) => statement.all(...(values as string[])),
      run: (values: readonly unknown[]) => statement.run(...(values as string[])),
      iterate: (values: readonly unknown[]) => statement.iterate(...(values as string[])),
    }
  }
  await migrateTo(new Kysely<never>({ dialect: new SqliteDialect({ database: { prepare, close: () => file.close() } }) }), last)
  file.exec(rows)
  file.close()
}

/** Gives the empty Postgres database of `url` the schema of an older version, which ended with the migration `last`, and fills it. */
export async function createOlderPostgres(url: string, last: string, rows: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  await migrateTo(new Kysely<never>({ dialect: new PostgresDialect({ pool }) }), last)
  await pool.query(rows)
  await pool.end()
}

async function migrateTo(db: Kysely<never>, last: string): Promise<void> {
  const load = async (name: string) => {
    const migration = (await import(`../../src/store/migrations/${name}.ts`)) as Migration
    return [name, migration] as const
  }
  const getMigrations = async () => Object.fromEntries(await Promise.all(migrationNames.map(load)))
  const { error } = await new Migrator({ db, provider: { getMigrations } }).migrateTo(last)
  if (error) throw new Error(`The database of ${last} could not be created.`, { cause: error })
}
