import { type DuckDBConnection, type DuckDBResult, StatementType } from '@duckdb/node-api'
import { type Database, type DatabasePlan, createDatabaseOpener, interruptible, UnreadableTable, describe } from './database.ts'
import { type TableDescription, maxColumns, type DescribedColumn } from './descriptions.ts'
import { type Visible, checkSelect, RefusedSql } from './guard.ts'
import { type QueryRows, type RowLimits, readRows } from './rows.ts'
import { serveQuestions, type OpenQuestion } from '../../processes/serve-questions.ts'
import { orAborted } from '../../concurrency/or-aborted.ts'
import { quoteName } from './filters.ts'

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

interface CachedDatabase {
  database: Promise<Database>
  opening: AbortController
  users: number
}

/** Caches the most recently used databases, so that the next call with the same files and filters finds its tables loaded. */
export function createDatabaseCache(open: (plan: DatabasePlan, signal: AbortSignal) => Promise<Database>, maxIdle: number) {
  // Least recently used first.
  const entries = new Map<string, CachedDatabase>()

  function acquire(key: string, plan: DatabasePlan): CachedDatabase {
    const cached = entries.get(key)
    entries.delete(key)
    const entry = cached ?? begin(plan)
    if (!cached) entry.database.catch(() => forget(key, entry))
    entries.set(key, entry)
    entry.users++
    return entry
  }

  function begin(plan: DatabasePlan): CachedDatabase {
    const opening = new AbortController()
    return { database: open(plan, opening.signal), opening, users: 0 }
  }

  function forget(key: string, entry: CachedDatabase): void {
    if (entries.get(key) === entry) entries.delete(key)
  }

  function release(key: string, entry: CachedDatabase, isOpen: boolean): void {
    entry.users--
    if (entry.users === 0 && !isOpen) {
      forget(key, entry)
      entry.opening.abort(new Error('cancelled'))
      entry.database.then((database) => database.close()).catch(() => {})
    }
    for (const [idleKey, idle] of entries) {
      if (entries.size <= maxIdle) break
      if (idle.users > 0) continue
      entries.delete(idleKey)
      idle.database.then((database) => database.close()).catch(() => {})
    }
  }

  /** Opens the database of the plan, or shares an open database, while `work` runs. An opening without waiting callers is cancelled. */
  async function use<T>(plan: DatabasePlan, signal: AbortSignal, work: (database: Database) => Promise<T>): Promise<T> {
    const key = JSON.stringify(plan)
    const entry = acquire(key, plan)
    let isOpen = false
    try {
      const database = await orAborted(entry.database, signal)
      isOpen = true
      return await work(database)
    } finally {
      release(key, entry, isOpen)
    }
  }

  return { use }
}

const maxValues = 12
const maxValueCharacters = 24

export async function describeTables(connection: DuckDBConnection, plan: DatabasePlan): Promise<TableDescription[]> {
  const tables: TableDescription[] = []
  for (const { name } of plan.tables) {
    const columns: DescribedColumn[] = []
    for (const column of await describe(connection, quoteName(name))) {
      const isListed = columns.length < maxColumns && column.type === 'VARCHAR'
      columns.push(isListed ? { ...column, values: await fewValues(connection, name, column.name) } : column)
    }
    tables.push({ name, columns })
  }
  return tables
}

async function fewValues(connection: DuckDBConnection, table: string, column: string): Promise<string[] | undefined> {
  const name = quoteName(column)
  const reply = await connection.runAndReadAll(
    `SELECT DISTINCT ${name} FROM ${quoteName(table)} WHERE ${name} IS NOT NULL LIMIT ${maxValues + 1}`,
  )
  const values = reply.getRows().map(([value]) => String(value))
  // A value with a comma, a parenthesis or a line break could be misread as several values.
  const isPlain = values.every((value) => value !== '' && value.length <= maxValueCharacters && !/[,()\p{Cc}]/u.test(value))
  return values.length > 0 && values.length <= maxValues && isPlain ? values.sort() : undefined
}
