import { Kysely, PostgresDialect } from 'kysely'
import type pg from 'pg'
import { migrate } from '../migrations/migrate.ts'
import { bossSchema, prepareBoss } from '../jobs/pg-boss-schema.ts'
import { faultOf } from './faults.ts'
import { everyTenant } from './scopes.ts'
import { grantSchema, grantTables, openServiceRole, enableRowSecurity } from './row-security.ts'

/** Advisory lock of preparations, with a number not used by other locks on the database. */
const lock = 'select pg_advisory_lock(4815162342)'
const unlock = 'select pg_advisory_unlock(4815162342)'

export interface PreparedDatabase {
  migrated: string[]
  /** Role of the service's queries; undefined: the login user. */
  role: string | undefined
}

/** Migrates a database to this version as the login user, one process at a time and without a time limit. */
export async function prepare(client: pg.Client, connect: () => Promise<pg.Client>): Promise<PreparedDatabase> {
  await refuseUnsupported(client, connect)
  return withAdvisoryLock(client, async () => {
    // Row-level security hides rows even from the owner of a table, so migrations need access to all tenants.
    await client.query("select set_config('agent_core.tenant', $1, false)", [everyTenant])
    const role = await openServiceRole(client)
    const migrated = await withoutDeadlock(client, () => migrate(toKysely(client)))
    await withoutDeadlock(client, () => enableRowSecurity(client))
    await prepareBoss(client)
    if (role !== undefined) {
      await grantTables(client)
      await grantSchema(client, bossSchema)
    }
    return { migrated, role }
  })
}

async function refuseUnsupported(client: pg.Client, connect: () => Promise<pg.Client>): Promise<void> {
  const { rows } = await client.query<{ version: string; isOld: boolean; pid: number }>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::int < 140000 as "isOld",
      pg_backend_pid() as pid`,
  )
  const { version, isOld, pid } = rows[0]!
  if (isOld) throw new Error(`The database is Postgres ${version}; it must be version 14 or later.`)
  // A pooler reports a process id of its own when the connection is made.
  const { processID } = client as { processID?: number }
  if (processID !== pid && (await isShared(client, connect))) {
    throw new Error(
      'DATABASE_URL leads to a pooler that gives each transaction another connection; prepared statements, row-level security and LISTEN ' +
        'need a connection of their own. Set the pooler to sessions (pool_mode = session), or set DATABASE_URL to the server itself.',
    )
  }
}

/** True when a pooler shares server processes: two open connections use one server process, or one connection uses several. */
async function isShared(first: pg.Client, connect: () => Promise<pg.Client>): Promise<boolean> {
  const second = await connect()
  try {
    const backendPids: Set<number>[] = [new Set(), new Set()]
    for (let n = 0; n < samples; n++) {
      for (const [at, client] of [first, second].entries()) {
        backendPids[at]!.add((await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid)
      }
    }
    const [firstPids, secondPids] = backendPids as [Set<number>, Set<number>]
    return firstPids.size > 1 || secondPids.size > 1 || [...firstPids].some((pid) => secondPids.has(pid))
  } finally {
    await second.end().catch(() => undefined)
  }
}

const samples = 5

/** Runs `work` under the advisory lock: Postgres refuses concurrent changes of grants and tables. */
async function withAdvisoryLock<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  await client.query('set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0')
  await client.query(lock)
  try {
    return await work()
  } finally {
    await client.query(unlock).catch(() => undefined)
  }
}

/** Attempts to change the tables while processes of an earlier version work on them. Each deadlock is found after `deadlock_timeout`, by default 1 s. */
const maxDeadlocks = 30

/** Repeats `change`, which Postgres rolls back where it and a process of an earlier version wait for the locks of each other. */
async function withoutDeadlock<T>(client: pg.Client, change: () => Promise<T>): Promise<T> {
  for (let deadlocks = 0; ; deadlocks++) {
    try {
      return await change()
    } catch (error) {
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
      if (faultOf(cause) !== 'undone' || deadlocks === maxDeadlocks) throw error
      await client.query('rollback')
    }
  }
}

/** A Kysely instance for migrations on one connection. */
function toKysely(client: pg.Client): Kysely<never> {
  const connection = { query: client.query.bind(client), release: () => undefined }
  const pool = { connect: async () => connection, end: async () => undefined }
  return new Kysely<never>({ dialect: new PostgresDialect({ pool: pool as never }) })
}
