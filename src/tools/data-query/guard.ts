import type { DuckDBConnection } from '@duckdb/node-api'

/** The SQL is refused. The message is for the model. */
export class RefusedSql extends Error {
  override readonly name = 'RefusedSql'
}

export interface Visible {
  /** Names of readable tables. */
  tables: readonly string[]
  /** Names of existing tables withheld from the call. */
  withheld: readonly string[]
}

/**
 * Table functions which compute rows from their arguments alone. All further table functions are refused: some read files, `query` runs SQL from a
 * text, and some (`enable_logging`) change the database shared with later callers, even inside a plain SELECT.
 */
const tableFunctions = new Set(['range', 'generate_series', 'unnest', 'repeat', 'repeat_row', 'json_each', 'json_tree'])

/** Scalar functions which reveal the host or the engine, keep state, or only use CPU time. */
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

/** Longer SQL would only put load on the parser. */
const maxSqlCharacters = 50_000

/**
 * Throws `RefusedSql` unless DuckDB's own parser finds a single SELECT over visible tables. The statement is neither bound nor run:
 * binding alone opens files and calls table functions.
 */
export async function checkSelect(connection: DuckDBConnection, sql: string, visible: Visible): Promise<void> {
  if (sql.length > maxSqlCharacters) throw new RefusedSql(`The SQL is longer than ${maxSqlCharacters} characters.`)
  if (sql.includes('\0')) throw new RefusedSql('The SQL contains a NUL character.')
  const reply = await connection.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [sql])
  const tree = JSON.parse(String(reply.getRows()[0]?.[0])) as Tree
  if (tree.error) throw new RefusedSql(toRefusal(tree))
  if (tree.statements?.length !== 1) throw new RefusedSql(onlySelect)
  const names: Names = { visible, ctes: new Set() }
  walk(tree.statements[0], (node) => collectCtes(node, names.ctes))
  walk(tree.statements[0], (node) => checkNode(node, names))
}

const onlySelect = 'Only one SELECT statement can be run at a time.'

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
  // An explicit stack, because the caller chooses the nesting and could overflow the call stack.
  const pending = [root]
  while (pending.length > 0) {
    const node = pending.pop()
    if (typeof node !== 'object' || node === null) continue
    if (!Array.isArray(node)) visit(node as Node)
    for (const child of Object.values(node)) pending.push(child)
  }
}

function collectCtes(node: Node, names: Set<string>): void {
  const map = (node['cte_map'] as { map?: { key: string }[] } | undefined)?.map
  for (const { key } of map ?? []) {
    const name = key.toLowerCase()
    // Outside of its scope the name of such a CTE would refer to the internal view of the engine.
    if (/^(duckdb_|pg_|sqlite_|pragma_)/.test(name)) throw new RefusedSql(`A CTE cannot be called ${key}.`)
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
    if (!tableFunctions.has(name)) throw new RefusedSql(`${name} cannot be used here. ${listTables(names)}`)
  }
  const called = node['function_name']
  if (typeof called === 'string' && refusedFunctions.has(called.toLowerCase())) throw new RefusedSql(`${called} cannot be used here.`)
}

function checkTable(node: Node, names: Names): void {
  const schema = String(node['schema_name'] ?? '').toLowerCase()
  const catalog = String(node['catalog_name'] ?? '').toLowerCase()
  const table = String(node['table_name'])
  const isIn = (tables: readonly string[]) => tables.some((name) => name.toLowerCase() === table.toLowerCase())
  const isOurs = (schema === '' || schema === 'main') && (catalog === '' || catalog === 'memory')
  if (isOurs && (isIn(names.visible.tables) || (schema === '' && names.ctes.has(table.toLowerCase())))) return
  if (isOurs && isIn(names.visible.withheld)) {
    throw new RefusedSql(`The table ${table} is not available in this conversation: a data filter restricts the file behind it.`)
  }
  throw new RefusedSql(`There is no table ${[catalog, schema, table].filter(Boolean).join('.')}. ${listTables(names)}`)
}

function listTables({ visible }: Names): string {
  return visible.tables.length > 0 ? `Tables: ${visible.tables.join(', ')}.` : 'No table is available.'
}
