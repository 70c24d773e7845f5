import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Database } from '../database.ts'
import { openBossJobs } from '../jobs/pg-boss.ts'
import { connectPostgres } from './connect.ts'
import { prepare } from './prepare.ts'
import { createScopes, everyTenant } from './scopes.ts'
import type { Tables } from '../tables.ts'

/** A query or a lock that takes longer is given up: nobody waits for it any more. */
const statementMs = 30_000
const lockMs = 10_000
/** Longer than the server takes to give it up: it is away then, and its connection does not know. */
const maxAnswerMs = 40_000
/**
 * A unit awaits nothing but its queries. One that is idle for so long is of a process that hangs or was cut off, and must not hold its
 * locks: a session's line, a tenant's metrics.
 */
const maxIdleMs = 10_000
/** To connect, or to get a connection that is free. */
const connectMs = 5000

/** A Postgres server, version 14 or later; `url` as libpq takes it. */
export async function openPostgres(url: string, { connections = 20, answerMs = maxAnswerMs } = {}): Promise<Database> {
  const connect = () => connectOwnClient(url)
  const { migrated, role } = await withOwnClient(connect, (client) => prepare(client, connect))
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    // Queries that do not wait for each other's answers go out together: what is fixed (tenant, begin) costs no round trip.
    pipeline: true,
    // Set per connection: poolers refuse them as start-up parameters. Awaited by the pool before the connection is handed out.
    onConnect: (client) => client.query(settingsOf(role)) as unknown as void,
    connectionTimeoutMillis: connectMs,
    query_timeout: answerMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser },
  })
  // A connection that breaks is replaced, and a query on it rejects. Without listeners on the pool (idle ones) and on each client (those in
  // use) the process would end.
  pool.on('error', () => undefined)
  const clients = new Set<pg.Client>()
  pool.on('connect', (client) => {
    client.on('error', () => undefined)
    clients.add(client)
  })
  pool.on('remove', (client) => clients.delete(client as pg.Client))
  const { forTenant, ping, connectAll, script } = createScopes(pool)
  const all = forTenant(everyTenant)
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: { connect: connectAll, end: () => pool.end(), options: pool.options } }),
  })
  const jobs = await openBossJobs({ all, db, script }).catch(async (error: unknown) => {
    await pool.end()
    throw error
  })
  return {
    all,
    db,
    jobs,
    isShared: true,
    migrated,
    forTenant,
    postgres: { connect },
    ping,
    async close() {
      await jobs.close()
      await end(pool, clients)
    },
  }
}

/** A server that is away does not answer a goodbye either. */
async function end(pool: pg.Pool, clients: ReadonlySet<pg.Client>): Promise<void> {
  const timer = setTimeout(() => {
    for (const { connection } of clients) connection.stream.destroy()
  }, goodbyeMs)
  await pool.end()
  clearTimeout(timer)
}

const goodbyeMs = 3000

function settingsOf(role: string | undefined): string {
  const times = `set statement_timeout = ${statementMs}; set lock_timeout = ${lockMs}; set idle_in_transaction_session_timeout = ${maxIdleMs}`
  return role === undefined ? times : `set role ${role}; ${times}`
}

async function withOwnClient<T>(connect: () => Promise<pg.Client>, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function connectOwnClient(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectMs, keepAlive: true })
  client.on('error', () => undefined)
  await connectPostgres(client)
  return client
}

/** Epoch milliseconds and counters come as int8, which fits a JavaScript number for the next 285,000 years. */
function getTypeParser(oid: Parameters<typeof pg.types.getTypeParser>[0], format?: 'text' | 'binary') {
  return oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)
}
