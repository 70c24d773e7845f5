import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { startPostgres } from '../../test/fixtures/postgres-server.ts'

type Query = (sql: string) => Promise<Record<string, unknown>[]>

/** A database for a service, and the way to read the database beside the service. */
export interface KilledDatabase {
  environment: Record<string, string>
  /** `folder`: that of the service. */
  open(folder: string): Query
}

export const databases = { SQLite: async () => embedded, Postgres: openServer } satisfies Record<
  string,
  (scope: Scope) => Promise<KilledDatabase>
>

type Scope = Pick<TestContext, 'after'>

const embedded: KilledDatabase = {
  environment: {},
  open: (folder) => async (sql) => {
    const database = new DatabaseSync(path.join(folder, '.agent-core', 'agent-core.db'), { readOnly: true })
    try {
      return database.prepare(sql).all()
    } finally {
      database.close()
    }
  },
}

async function openServer(scope: Scope): Promise<KilledDatabase> {
  const server = await startPostgres()
  scope.after(() => server.stop())
  const url = await server.createDatabase()
  const query: Query = async (sql) => {
    const client = new pg.Client(url)
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows
    } finally {
      await client.end()
    }
  }
  return { environment: { DATABASE_URL: url, SECRET_KEY: 'x'.repeat(32) }, open: () => query }
}
