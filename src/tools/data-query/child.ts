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
import { serveQuestions, type OpenQuestion } from '../../processes/serve-questions.ts'

/** The process in which DuckDB runs. */

export type Question =
  | { type: 'describe'; plan: DatabasePlan }
  | { type: 'query'; plan: DatabasePlan; sql: string; visible: Visible; limits: RowLimits }

export type Reply =
  | { type: 'described'; tables: TableDescription[] }
  | { type: 'rows'; rows: QueryRows }
  /** `exhausted`: memory ran out. Much of the memory stays with the process even when freed, so the process should be replaced. */
  | { type: 'failed'; message: string; table?: string; cause?: string; exhausted?: boolean }

/** Databases kept in memory for the next call: the unfiltered database and databases of a few filters. */
const maxDatabases = 3

const databases = createDatabaseCache(createDatabaseOpener(), maxDatabases)

async function answer(question: Question, { signal }: OpenQuestion): Promise<Reply> {
  try {
    return await databases.use(question.plan, signal, (database) => work(database, question, signal))
  } catch (error) {
    return toFailure(error)
  }
}

async function work(database: Database, question: Question, signal: AbortSignal): Promise<Reply> {
  // A connection for each call: calls run concurrently, and an interrupt stops only the call of its connection.
  const connection = await database.connect()
  try {
    return await interruptible(connection, signal, () => perform(connection, question))
  } finally {
    connection.disconnectSync()
  }
}

async function perform(connection: DuckDBConnection, question: Question): Promise<Reply> {
  if (question.type === 'describe') return { type: 'described', tables: await describeTables(connection, question.plan) }
  await checkSelect(connection, question.sql, question.visible)
  return { type: 'rows', rows: await readRows(await stream(connection, question.sql), question.limits) }
}

async function stream(connection: DuckDBConnection, sql: string): Promise<DuckDBResult> {
  const statements = await connection.extractStatements(sql)
  if (statements.count !== 1) throw new RefusedSql('Only one SELECT statement at a time can be run.')
  const statement = await statements.prepare(0)
  if (statement.statementType !== StatementType.SELECT) throw new RefusedSql('Only a SELECT can be run.')
  return statement.stream()
}

function toFailure(error: unknown): Reply {
  if (error instanceof UnreadableTable) {
    return { type: 'failed', message: error.message, table: error.table, cause: messageOf(error.cause) }
  }
  const exhausted = error instanceof Error && error.message.startsWith('Out of Memory Error')
  return { type: 'failed', message: messageOf(error), exhausted }
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.message.startsWith('Out of Memory Error')) return 'Out of Memory Error: the query needs too much memory.'
  // DuckDB's advice on settings and extensions is for operators, not for the model.
  return error.message.split('\n\nPlease try installing', 1)[0] ?? error.message
}

// `SIGKILL`, because an exit would wait for the threads of running queries, and an endless query never returns.
serveQuestions(answer, { onDisconnect: () => process.kill(process.pid, 'SIGKILL') })
