import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Database, Scope } from './database.ts'
import { migrate } from './migrate.ts'
import type { Connection } from './statement.ts'
import type { Tables } from './tables.ts'

/**
 * A unit awaits nothing but its queries. One that is idle for so long is of a process that hangs or was cut off, and must not hold its
 * locks: a session's line, a tenant's metrics. (Set per connection: poolers refuse it as a start-up parameter.)
 */
const maxIdleMs = 10_000

/** A Postgres server, version 14 or later; `url` as libpq takes it. */
export async function openPostgres(url: string, { connections = 20 } = {}): Promise<Database> {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    // Queries that do not wait for each other's answers go out together: what is fixed (tenant, begin) costs no round trip.
    pipeline: true,
    // Awaited by the pool before the connection is handed out.
    onConnect: (client) => client.query(`set idle_in_transaction_session_timeout = ${maxIdleMs}`) as unknown as void,
    connectionTimeoutMillis: 5000,
    types: { getTypeParser },
  })
  // A connection that breaks is replaced, and a query on it rejects. Without listeners on the pool (idle ones) and on each client (those in
  // use) the process would end.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  let migrated: string[]
  try {
    migrated = await migrate(db as unknown as Kysely<never>)
  } catch (error) {
    await pool.end()
    throw error
  }
  const scope = scopes(pool)
  return {
    all: scope(everyTenant),
    db,
    isShared: true,
    migrated,
    of: scope,
    postgres: { connect: () => connectBeside(url) },
    ping: async () => void (await pool.query('select 1')),
    close: () => pool.end(),
  }
}

/** No name of a tenant: what row-level security lets see all. */
const everyTenant = '*'

function scopes(pool: pg.Pool): (tenant: string) => Scope {
  const names = new Map<string, string>()
  /** As whose it was used last. */
  const tenants = new WeakMap<pg.PoolClient, string>()

  async function withClient<T>(tenant: string, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await pool.connect()
    let broken: Error | undefined
    if (tenants.get(client) !== tenant) setTenant(client, tenant).catch((error: Error) => (broken = error))
    try {
      return await work(client)
    } catch (error) {
      if (error instanceof NotRolledBack) broken = error
      throw error instanceof NotRolledBack ? error.cause : error
    } finally {
      client.release(broken)
    }
  }

  async function setTenant(client: pg.PoolClient, tenant: string): Promise<void> {
    tenants.set(client, tenant)
    await client.query({ name: 'tenant', text: "select set_config('agent_core.tenant', $1, false)", values: [tenant] })
  }

  async function transact<T>(client: pg.PoolClient, work: (connection: Connection) => Promise<T>): Promise<T> {
    // On its way with the first query of the unit.
    const begun = client.query('begin')
    begun.catch(() => undefined)
    try {
      const value = await work(connect(client))
      await begun
      await client.query('commit')
      return value
    } catch (cause) {
      await client.query('rollback').catch(() => {
        throw new NotRolledBack(cause)
      })
      throw cause
    }
  }

  function connect(client: pg.PoolClient): Connection {
    return {
      async execute(sql, values) {
        let name = names.get(sql)
        if (name === undefined && names.size < maxNames) names.set(sql, (name = `s${names.size}`))
        const result = await client.query({ text: sql, values: values as unknown[], ...(name ? { name } : {}) })
        return { rows: result.rows, changes: result.rowCount ?? 0 }
      },
    }
  }

  return (tenant) => {
    const single: Connection = { execute: (sql, values) => withClient(tenant, (client) => connect(client).execute(sql, values)) }
    return { read: single, write: single, unit: (work) => withClient(tenant, (client) => transact(client, work)) }
  }
}

/** Each text has a short name under which a connection keeps it prepared; for so many. */
const maxNames = 500

/** The connection is worth nothing any more. */
class NotRolledBack extends Error {
  constructor(cause: unknown) {
    super('A unit could not be rolled back.', { cause })
    this.name = 'NotRolledBack'
  }
}

async function connectBeside(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

/** Epoch milliseconds and counters come as int8, which fits a JavaScript number for the next 285,000 years. */
function getTypeParser(oid: Parameters<typeof pg.types.getTypeParser>[0], format?: 'text' | 'binary') {
  return oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)
}
