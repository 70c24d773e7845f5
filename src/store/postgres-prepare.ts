import { Kysely, PostgresDialect } from 'kysely'
import type pg from 'pg'
import { migrate } from './migrate.ts'
import { bossSchema, prepareBoss } from './pg-boss/schema.ts'
import { grantSchema, grantTables, openServiceRole, wallTenants } from './row-security.ts'

/** Any number that nothing else on the database locks. */
const lock = 'select pg_advisory_lock(4815162342)'
const unlock = 'select pg_advisory_unlock(4815162342)'

export interface Prepared {
  migrated: string[]
  /** As which the service's queries are made; undefined: as the login user. */
  role: string | undefined
}

/** Brings a database to this version, as its login user, one process after another, however long that takes. */
export async function prepare(client: pg.Client): Promise<Prepared> {
  const { rows } = await client.query<{ version: string; isOld: boolean }>(
    "select current_setting('server_version') as version, current_setting('server_version_num')::int < 140000 as \"isOld\"",
  )
  if (rows[0]!.isOld) throw new Error(`The database is Postgres ${rows[0]!.version}; it must be version 14 or later.`)
  return alone(client, async () => {
    const role = await openServiceRole(client)
    const migrated = await migrate(toKysely(client))
    await wallTenants(client)
    await prepareBoss(client)
    if (role !== undefined) {
      await grantTables(client)
      await grantSchema(client, bossSchema)
    }
    return { migrated, role }
  })
}

/** Rights and tables that two change at once are refused to one of them. */
async function alone<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  await client.query('set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0')
  await client.query(lock)
  try {
    return await work()
  } finally {
    await client.query(unlock).catch(() => undefined)
  }
}

/** Migrations on one connection. */
function toKysely(client: pg.Client): Kysely<never> {
  const connection = { query: client.query.bind(client), release: () => undefined }
  const pool = { connect: async () => connection, end: async () => undefined }
  return new Kysely<never>({ dialect: new PostgresDialect({ pool: pool as never }) })
}
