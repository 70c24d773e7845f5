import type { DuckDBConnection, DuckDBResult } from '@duckdb/node-api'
import { StatementType } from '@duckdb/node-api'
import { createDatabaseCache } from './cache.ts'
import type { Database, DatabasePlan } from './database.ts'
import { createDatabaseOpener, interruptible, UnreadableTable } from './database.ts'
import { describeTables } from './description.ts'
import type { TableDescription } from './table-lines.ts'
import type { Visible } from './guard.ts'
import { checkSelect, RefusedSql } from './guard.ts'
import type { QueryRows, RowLimits } from './rows.ts'
import { readRows } from './rows.ts'

/** The process in which DuckDB runs. Receives `Request` messages over its channel and exits when the channel closes. */

export type Request =
  | { id: number; type: 'describe'; plan: DatabasePlan }
  | { id: number; type: 'query'; plan: DatabasePlan; sql: string; visible: Visible; limits: RowLimits }
  | { id: number; type: 'cancel' }

type Work = Exclude<Request, { type: 'cancel' }>

export type Reply =
  | { id: number; type: 'described'; tables: TableDescription[] }
  | { id: number; type: 'rows'; rows: QueryRows }
  /** `exhausted`: memory ran out. Much of the memory stays with the process even when freed, so the process should be replaced. */
  | { id: number; type: 'failed'; message: string; table?: string; cause?: string; exhausted?: boolean }

/** Databases kept in memory for the next call: the unfiltered database and databases of a few filters. */
const maxDatabases = 3

const databases = createDatabaseCache(createDatabaseOpener(), maxDatabases)
const running = new Map<number, AbortController>()

process.on('message', (request: Request) => {
  if (request.type === 'cancel') running.get(request.id)?.abort(new Error('cancelled'))
  else void answer(request).then((reply) => process.send?.(reply))
})
// `SIGKILL`, because an exit would wait for the threads of running queries, and an endless query never returns.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))

async function answer(request: Work): Promise<Reply> {
  const { id } = request
  const controller = new AbortController()
  running.set(id, controller)
  try {
    return await databases.use(request.plan, controller.signal, (database) => work(database, request, controller.signal))
  } catch (error) {
    return toFailure(id, error)
  } finally {
    running.delete(id)
  }
}

async function work(database: Database, request: Work, signal: AbortSignal): Promise<Reply> {
  // A connection for each call: calls run concurrently, and an interrupt stops only the call of its connection.
  const connection = await database.connect()
  try {
    return await interruptible(connection, signal, () => perform(connection, request))
  } finally {
    connection.disconnectSync()
  }
}

async function perform(connection: DuckDBConnection, request: Work): Promise<Reply> {
  const { id } = request
  if (request.type === 'describe') return { id, type: 'described', tables: await describeTables(connection, request.plan) }
  await checkSelect(connection, request.sql, request.visible)
  return { id, type: 'rows', rows: await readRows(await stream(connection, request.sql), request.limits) }
}

async function stream(connection: DuckDBConnection, sql: string): Promise<DuckDBResult> {
  const statements = await connection.extractStatements(sql)
  if (statements.count !== 1) throw new RefusedSql('Only one SELECT statement at a time can be run.')
  const statement = await statements.prepare(0)
  if (statement.statementType !== StatementType.SELECT) throw new RefusedSql('Only a SELECT can be run.')
  return statement.stream()
}

function toFailure(id: number, error: unknown): Reply {
  if (error instanceof UnreadableTable) {
    return { id, type: 'failed', message: error.message, table: error.table, cause: messageOf(error.cause) }
  }
  const exhausted = error instanceof Error && error.message.startsWith('Out of Memory Error')
  return { id, type: 'failed', message: messageOf(error), exhausted }
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.message.startsWith('Out of Memory Error')) return 'Out of Memory Error: the query needs too much memory.'
  // DuckDB's advice on settings and extensions is for operators, not for the model.
  return error.message.split('\n\nPlease try installing', 1)[0] ?? error.message
}
