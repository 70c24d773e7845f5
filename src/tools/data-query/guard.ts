import type { DuckDBConnection } from '@duckdb/node-api'

/** SQL that is not run. The message is for the model. */
export class RefusedSql extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'RefusedSql'
  }
}

export interface Visible {
  /** Names of the tables that may be read. */
  tables: readonly string[]
  /** Names of the tables that exist but are kept from this call. */
  withheld: readonly string[]
}

/**
 * Functions that make rows out of their arguments alone. Every other one is refused: some read files, one runs SQL given as
 * text, and some (`enable_logging`) change the database that later callers share, from inside of a plain SELECT.
 */
const tableFunctions = new Set(['range', 'generate_series', 'unnest', 'repeat', 'repeat_row', 'json_each', 'json_tree'])

/** Scalar functions that tell of the host or the engine, keep state, or only burn time. */
const refusedFunctions = new Set([
  'current_setting',
  'getenv',
  'getvariable',
  'write_log',
  'parse_duckdb_log_message',
  'current_query',
  'current_connection_id',
  'json_serialize_plan',
  'json_deserialize_sql',
  'nextval',
  'currval',
  'setseed',
  'sleep_ms',
  'pg_sleep',
  'version',
])

/** Longer SQL is not a question but a load on the parser. */
const maxSqlCharacters = 50_000

/**
 * Throws `RefusedSql` unless the text is one SELECT over visible tables, by DuckDB's own parser. Nothing is bound or run here:
 * binding alone already opens files and calls table functions.
 */
export async function checkSelect(connection: DuckDBConnection, sql: string, visible: Visible): Promise<void> {
  if (sql.length > maxSqlCharacters) throw new RefusedSql(`The SQL is longer than ${maxSqlCharacters} characters.`)
  if (sql.includes('\0')) throw new RefusedSql('The SQL holds a NUL character.')
  const reply = await connection.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [sql])
  const tree = JSON.parse(String(reply.getRows()[0]?.[0])) as Tree
  if (tree.error) throw new RefusedSql(toRefusal(tree))
  if (tree.statements?.length !== 1) throw new RefusedSql(onlySelect)
  const names: Names = { visible, ctes: new Set() }
  walk(tree.statements[0], (node) => collectCtes(node, names.ctes))
  walk(tree.statements[0], (node) => checkNode(node, names))
}

const onlySelect = 'Only one SELECT statement at a time can be run.'

interface Tree {
  error: boolean
  error_type?: string
  error_message?: string
  statements?: unknown[]
}

type Node = Record<string, unknown>
interface Names {
  visible: Visible
  ctes: Set<string>
}

function toRefusal(tree: Tree): string {
  return tree.error_type === 'parser' ? `Parser Error: ${tree.error_message}` : `${onlySelect} A PIVOT needs its values listed with IN.`
}

function walk(root: unknown, visit: (node: Node) => void): void {
  // A stack of our own: nesting is the caller's choice and must not be able to overflow ours.
  const waiting = [root]
  while (waiting.length > 0) {
    const node = waiting.pop()
    if (typeof node !== 'object' || node === null) continue
    if (!Array.isArray(node)) visit(node as Node)
    for (const child of Object.values(node)) waiting.push(child)
  }
}

function collectCtes(node: Node, names: Set<string>): void {
  const map = (node['cte_map'] as { map?: { key: string }[] } | undefined)?.map
  for (const { key } of map ?? []) {
    const name = key.toLowerCase()
    // Were it allowed, the name could be used outside of its scope to read the engine's own view of that name.
    if (/^(duckdb_|pg_|sqlite_|pragma_)/.test(name)) throw new RefusedSql(`A CTE can't be called ${key}.`)
    names.add(name)
  }
}

function checkNode(node: Node, names: Names): void {
  if (node['type'] === 'BASE_TABLE') checkTable(node, names)
  if (node['type'] === 'SHOW_REF' && !node['query'] && node['table_name'] !== '"tables"') {
    throw new RefusedSql('Only SHOW TABLES, DESCRIBE and SUMMARIZE of a table can be used.')
  }
  if (node['type'] === 'TABLE_FUNCTION') {
    const name = String((node['function'] as Node | undefined)?.['function_name'] ?? '').toLowerCase()
    if (!tableFunctions.has(name)) throw new RefusedSql(`${name} can't be used here. ${tellTables(names)}`)
  }
  const called = node['function_name']
  if (typeof called === 'string' && refusedFunctions.has(called.toLowerCase())) throw new RefusedSql(`${called} can't be used here.`)
}

function checkTable(node: Node, names: Names): void {
  const schema = String(node['schema_name'] ?? '').toLowerCase()
  const catalog = String(node['catalog_name'] ?? '').toLowerCase()
  const table = String(node['table_name'])
  const isKnown = (known: readonly string[]) => known.some((name) => name.toLowerCase() === table.toLowerCase())
  const isOurs = (schema === '' || schema === 'main') && (catalog === '' || catalog === 'memory')
  if (isOurs && (isKnown(names.visible.tables) || (schema === '' && names.ctes.has(table.toLowerCase())))) return
  if (isOurs && isKnown(names.visible.withheld)) {
    throw new RefusedSql(`The table ${table} is not available in this conversation: a data filter restricts the file behind it.`)
  }
  throw new RefusedSql(`There is no table ${[catalog, schema, table].filter(Boolean).join('.')}. ${tellTables(names)}`)
}

function tellTables({ visible }: Names): string {
  return visible.tables.length > 0 ? `Tables: ${visible.tables.join(', ')}.` : 'No table is available.'
}
