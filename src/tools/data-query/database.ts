import type { DuckDBConnection } from '@duckdb/node-api'
import { DuckDBInstance } from '@duckdb/node-api'
import type { DataFilter } from '../../agent/tool.ts'
import type { Column } from './filters.ts'
import { quoteName, toCondition } from './filters.ts'
import { convertSpreadsheet } from './spreadsheet.ts'

export type TableFormat = 'csv' | 'tsv' | 'json' | 'ndjson' | 'parquet' | 'xlsx'

export interface SourceFile {
  /** Absolute. */
  path: string
  /** Changes when the file does. */
  version: string
}

export interface TableSource {
  name: string
  format: TableFormat
  files: SourceFile[]
}

/** What one database is made of. Equal plans make equal databases. */
export interface DatabasePlan {
  tables: TableSource[]
  filters: DataFilter[]
  /** Where converted spreadsheets are kept. */
  cacheDir: string
}

/** A table that can't be read. `cause` may quote the file: it is for the operator, never for a model. */
export class UnreadableTable extends Error {
  readonly table: string

  constructor(table: string, cause: unknown) {
    super(`The table ${table} can't be read.`, { cause })
    this.name = 'UnreadableTable'
    this.table = table
  }
}

/** Holds the rows that pass the filters and nothing else: rows that are not there can't be found by any SQL. */
export interface Database {
  connect(): Promise<DuckDBConnection>
  close(): void
}

const settings = {
  memory_limit: '512MB',
  threads: '2',
  // Nothing may be spilled to the disk: it would lie beside the data that it was filtered from.
  temp_directory: '',
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  allow_community_extensions: 'false',
}

/** The columns of sources that were filtered before; to find them out, a CSV file is read as a whole. */
type KnownColumns = Map<string, Column[]>
const maxKnownColumns = 256

/** The opener rejects with `UnreadableTable`, or the abort's reason. */
export function createDatabaseOpener(): (plan: DatabasePlan, signal: AbortSignal) => Promise<Database> {
  const known: KnownColumns = new Map()
  return (plan, signal) => openDatabase(plan, known, signal)
}

async function openDatabase(plan: DatabasePlan, known: KnownColumns, signal: AbortSignal): Promise<Database> {
  const instance = await DuckDBInstance.create(':memory:', settings)
  try {
    const connection = await instance.connect()
    await connection.run("SET TimeZone = 'UTC'")
    for (const table of plan.tables) {
      signal.throwIfAborted()
      await interruptible(connection, signal, () => load(connection, table, { plan, known })).catch((cause: unknown) => {
        signal.throwIfAborted()
        throw new UnreadableTable(table.name, cause)
      })
    }
    await connection.run('SET enable_external_access = false')
    await connection.run('SET lock_configuration = true')
    connection.disconnectSync()
    return { connect: () => instance.connect(), close: () => instance.closeSync() }
  } catch (error) {
    instance.closeSync()
    throw error
  }
}

async function load(
  connection: DuckDBConnection,
  table: TableSource,
  { plan, known }: { plan: DatabasePlan; known: KnownColumns },
): Promise<void> {
  const paths = table.format === 'xlsx' ? await convertAll(table.files, plan.cacheDir) : table.files.map((file) => file.path)
  const source = toReader(table.format, paths)
  const columns = plan.filters.length > 0 ? await columnsOf(connection, { table, source, known }) : []
  const condition = toCondition(plan.filters, columns)
  await connection.run(`CREATE TABLE ${quoteName(table.name)} AS SELECT * FROM ${source} WHERE ${condition.sql}`, condition.values)
}

async function columnsOf(
  connection: DuckDBConnection,
  { table, source, known }: { table: TableSource; source: string; known: KnownColumns },
): Promise<Column[]> {
  const key = JSON.stringify(table)
  const columns = known.get(key) ?? (await describe(connection, source))
  if (known.size >= maxKnownColumns) known.clear()
  known.set(key, columns)
  return columns
}

async function convertAll(files: readonly SourceFile[], cacheDir: string): Promise<string[]> {
  const converted: string[] = []
  for (const file of files) converted.push(await convertSpreadsheet(file, cacheDir))
  return converted
}

/** Names and types of a table or of anything else that can stand after FROM. */
export async function describe(connection: DuckDBConnection, source: string): Promise<Column[]> {
  const reply = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${source}`)
  return reply.getRows().map(([name, type]) => ({ name: String(name), type: String(type) }))
}

/** The whole file decides on a column's type (`sample_size`): a late "n/a" would fail the load otherwise. */
function toReader(format: TableFormat, paths: readonly string[]): string {
  const files = `[${paths.map(toPathLiteral).join(', ')}]`
  switch (format) {
    case 'csv':
      return `read_csv(${files}, sample_size = -1, hive_partitioning = false)`
    case 'tsv':
      return `read_csv(${files}, delim = '\\t', sample_size = -1, hive_partitioning = false)`
    case 'parquet':
      return `read_parquet(${files}, hive_partitioning = false)`
    case 'json':
      return `read_json(${files}, sample_size = -1, hive_partitioning = false)`
    case 'ndjson':
    case 'xlsx':
      return `read_json(${files}, format = 'newline_delimited', sample_size = -1, hive_partitioning = false)`
  }
}

/** DuckDB would expand `*`, `?` and `[` in a file's name into other files. */
function toPathLiteral(path: string): string {
  return `'${path.replaceAll(/[*?[]/g, '[$&]').replaceAll("'", "''")}'`
}

/** An interrupt that comes before DuckDB has begun is lost, so it is sent until the work has ended. */
const interruptEveryMs = 25

/** Runs the connection's work so that an abort stops it in the engine. */
export async function interruptible<T>(connection: DuckDBConnection, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const interrupt = () => {
    connection.interrupt()
    timer = setTimeout(interrupt, interruptEveryMs)
  }
  signal.throwIfAborted()
  signal.addEventListener('abort', interrupt, { once: true })
  try {
    return await work()
  } finally {
    signal.removeEventListener('abort', interrupt)
    clearTimeout(timer)
  }
}
