import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import type { DataFilter } from '../../agent/tool.ts'
import { type Column, quoteName, toCondition } from './filters.ts'
import type { SourceFile, TableFormat, TableSource } from './tables.ts'
import { createHash } from 'node:crypto'
import { access, mkdir, readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { type CellValue, type Row, readSheet } from 'read-excel-file/node'
import { writeWhole } from '../../files/write-whole.ts'

/** The tables and filters of a database. Equal plans give equal databases. */
export interface DatabasePlan {
  tables: TableSource[]
  filters: DataFilter[]
  /** Folder for converted spreadsheets. */
  cacheDir: string
}

/** A table cannot be read. `cause` may quote the file, so it is for the operator and never for a model. */
export class UnreadableTable extends Error {
  readonly table: string

  constructor(table: string, cause: unknown) {
    super(`The table ${table} cannot be read.`, { cause })
    this.name = 'UnreadableTable'
    this.table = table
  }
}

/** Contains only rows which pass the filters: no SQL can find a row which was never loaded. */
export interface Database {
  connect(): Promise<DuckDBConnection>
  close(): void
}

const settings = {
  memory_limit: '512MB',
  threads: '2',
  // Spilling to disk is disabled: spilled rows would lie unfiltered beside the source files.
  temp_directory: '',
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  allow_community_extensions: 'false',
}

/** Cached columns of filtered sources. Finding the columns of a CSV file requires reading the whole file. */
type ColumnCache = Map<string, Column[]>
const maxCachedColumns = 256

/** Returns an opener, which rejects with `UnreadableTable` or the abort's reason. */
export function createDatabaseOpener(): (plan: DatabasePlan, signal: AbortSignal) => Promise<Database> {
  const columnCache: ColumnCache = new Map()
  return (plan, signal) => openDatabase(plan, columnCache, signal)
}

async function openDatabase(plan: DatabasePlan, columnCache: ColumnCache, signal: AbortSignal): Promise<Database> {
  const instance = await DuckDBInstance.create(':memory:', settings)
  try {
    const connection = await instance.connect()
    await connection.run("SET TimeZone = 'UTC'")
    for (const table of plan.tables) {
      signal.throwIfAborted()
      await interruptible(connection, signal, () => load(connection, table, { plan, columnCache })).catch((cause: unknown) => {
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
  { plan, columnCache }: { plan: DatabasePlan; columnCache: ColumnCache },
): Promise<void> {
  const paths = table.format === 'xlsx' ? await convertAll(table.files, plan.cacheDir) : table.files.map((file) => file.path)
  const source = toReader(table.format, paths)
  const columns = plan.filters.length > 0 ? await columnsOf(connection, { table, source, columnCache }) : []
  const condition = toCondition(plan.filters, columns)
  await connection.run(`CREATE TABLE ${quoteName(table.name)} AS SELECT * FROM ${source} WHERE ${condition.sql}`, condition.values)
}

async function columnsOf(
  connection: DuckDBConnection,
  { table, source, columnCache }: { table: TableSource; source: string; columnCache: ColumnCache },
): Promise<Column[]> {
  const key = JSON.stringify(table)
  const columns = columnCache.get(key) ?? (await describe(connection, source))
  if (columnCache.size >= maxCachedColumns) columnCache.clear()
  columnCache.set(key, columns)
  return columns
}

async function convertAll(files: readonly SourceFile[], cacheDir: string): Promise<string[]> {
  const converted: string[] = []
  for (const file of files) converted.push(await convertSpreadsheet(file, cacheDir))
  return converted
}

/** Names and types of the columns of a table, or of any other source allowed after FROM. */
export async function describe(connection: DuckDBConnection, source: string): Promise<Column[]> {
  const reply = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${source}`)
  return reply.getRows().map(([name, type]) => ({ name: String(name), type: String(type) }))
}

/** `sample_size = -1`: the whole file decides on the type of a column, otherwise a late "n/a" would fail the load. */
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

/** Escapes `*`, `?` and `[`, which DuckDB would expand to names of further files. */
function toPathLiteral(path: string): string {
  return `'${path.replaceAll(/[*?[]/g, '[$&]').replaceAll("'", "''")}'`
}

/** DuckDB loses an interrupt sent before a query has begun, so the interrupt is repeated until the query ends. */
const interruptEveryMs = 25

/** Runs `work` so that an abort interrupts the engine. */
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

/**
 * Converts the first sheet of a workbook to a file of JSON lines, which stays in `cacheDir` until the workbook changes. The first row has the
 * column names. DuckDB's own support for workbooks is an extension which would have to be downloaded.
 */
export async function convertSpreadsheet(file: SourceFile, cacheDir: string): Promise<string> {
  const prefix = `sheet-${createHash('sha256').update(file.path).digest('hex').slice(0, 24)}-`
  const target = path.join(cacheDir, `${prefix}${file.version}.ndjson`)
  if (await exists(target)) return target
  const rows = await readSheet(file.path)
  await mkdir(cacheDir, { recursive: true, mode: 0o700 })
  await writeWhole(target, toLines(rows))
  await removeOthers(cacheDir, prefix, path.basename(target))
  return target
}

function toLines([header = [], ...rows]: Row[]): string {
  const names = toColumnNames(header)
  if (names.length === 0) throw new Error('The first sheet is empty.')
  return rows.map((row) => `${JSON.stringify(Object.fromEntries(names.map((name, index) => [name, toCell(row[index])])))}\n`).join('')
}

/** Makes the column names unique. DuckDB compares names without case. */
function toColumnNames(header: Row): string[] {
  const usedNames = new Set<string>()
  return header.map((cell, index) => {
    const baseName = cell === null ? `column_${index + 1}` : String(toCell(cell))
    let name = baseName
    for (let count = 1; usedNames.has(name.toLowerCase()); count++) name = `${baseName}_${count}`
    usedNames.add(name.toLowerCase())
    return name
  })
}

function toCell(cell: CellValue | null | undefined): string | number | boolean | null {
  if (!(cell instanceof Date)) return (cell ?? null) as string | number | boolean | null
  const text = cell.toISOString()
  return text.endsWith('T00:00:00.000Z') ? text.slice(0, 10) : text.replace('Z', '')
}

async function removeOthers(folder: string, prefix: string, current: string): Promise<void> {
  const outdated = (await readdir(folder)).filter((name) => name.startsWith(prefix) && name.endsWith('.ndjson') && name !== current)
  await Promise.all(outdated.map((name) => rm(path.join(folder, name), { force: true })))
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}
