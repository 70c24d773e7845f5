import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { createLedger } from '../audit/ledger.ts'
import type { Database } from '../database.ts'
import { openBossJobs } from '../jobs/pg-boss.ts'
import { connectPostgres } from './connect.ts'
import { prepare } from './prepare.ts'
import { createScopes, everyTenant } from './scopes.ts'
import type { Tables } from '../tables.ts'

/** Server-side limits of a query and of waiting for a lock, in milliseconds. Callers do not wait longer. */
const statementMs = 30_000
const lockMs = 10_000
/** Client-side limit of an answer. Longer than `statementMs`: the server is unreachable, and the connection has not noticed. */
const maxAnswerMs = 40_000
/**
 * A unit of work awaits nothing but its queries. An idle transaction of this age belongs to a process that hangs or is cut off, and must not
 * hold its locks on a session queue or on the metrics of a tenant.
 */
const maxIdleMs = 10_000
/** Limit in milliseconds to connect, or to get a free connection of the pool. */
const connectMs = 5000

/** Opens a database on a Postgres server, version 14 or later. `url` is a libpq connection URL. */
export async function openPostgres(url: string, { connections = 20, answerMs = maxAnswerMs } = {}): Promise<Database> {
  const connect = () => connectOwnClient(url)
  const { migrated, role } = await withOwnClient(connect, (client) => prepare(client, connect))
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    // Queries are sent without waiting for previous answers, so the fixed ones (tenant, begin) cost no round trip.
    pipeline: true,
    // Settings per connection, because poolers refuse start-up parameters. The pool awaits `onConnect` before handing out a connection.
    onConnect: (client) => client.query(settingsOf(role)) as unknown as void,
    connectionTimeoutMillis: connectMs,
    // The default of 10 s would close and open connections in an idle process.
    idleTimeoutMillis: 60_000,
    query_timeout: answerMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser },
  })
  // A broken connection is replaced, and its queries reject. Without error listeners on the pool (idle connections) and on each client
  // (connections in use) the process would exit.
  pool.on('error', () => undefined)
  const clients = new Set<pg.Client>()
  pool.on('connect', (client) => {
    client.on('error', () => undefined)
    clients.add(client)
  })
  pool.on('remove', (client) => clients.delete(client as pg.Client))
  const { forTenant, writeOnce, writeGroup, ping, connectAll, script, shortenRetries } = createScopes(pool)
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
    ledger: createLedger(db),
    isShared: true,
    migrated,
    forTenant,
    postgres: { connect, writeOnce, writeGroup, shortenRetries },
    ping,
    async close() {
      await jobs.close()
      await end(pool, clients)
    },
  }
}

/** Ends the pool. Sockets of an unreachable server are destroyed, because the server does not answer the end of a connection. */
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

/** Parses int8 as a number: epoch milliseconds and counters fit a JavaScript number for the next 285,000 years. */
function getTypeParser(oid: Parameters<typeof pg.types.getTypeParser>[0], format?: 'text' | 'binary') {
  return oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)
}
