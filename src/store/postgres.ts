import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Database } from './database.ts'
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
  const names = new Map<string, string>()
  const read = connect(pool, names)
  return {
    db,
    isShared: true,
    migrated,
    read,
    async unit(work) {
      const client = await pool.connect()
      let broken: Error | undefined
      try {
        await client.query('begin')
        const value = await work(connect(client, names))
        await client.query('commit')
        return value
      } catch (error) {
        await client.query('rollback').catch((failure: Error) => (broken = failure))
        throw error
      } finally {
        client.release(broken)
      }
    },
    ping: async () => void (await pool.query('select 1')),
    close: () => pool.end(),
  }
}

/** Epoch milliseconds and counters come as int8, which fits a JavaScript number for the next 285,000 years. */
function getTypeParser(oid: Parameters<typeof pg.types.getTypeParser>[0], format?: 'text' | 'binary') {
  return oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)
}

/** `names` gives each text the short name under which a connection keeps it prepared. */
function connect(client: pg.Pool | pg.PoolClient, names: Map<string, string>): Connection {
  return {
    async execute(sql, parameters) {
      let name = names.get(sql)
      if (name === undefined && names.size < maxNames) names.set(sql, (name = `s${names.size}`))
      const result = await client.query({ text: sql, values: parameters as unknown[], ...(name ? { name } : {}) })
      return { rows: result.rows, changes: result.rowCount ?? 0 }
    },
  }
}

const maxNames = 500
