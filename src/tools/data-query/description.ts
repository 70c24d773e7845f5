import type { DuckDBConnection } from '@duckdb/node-api'
import type { DatabasePlan } from './database.ts'
import { describe } from './database.ts'
import type { Column } from './filters.ts'
import { quoteName } from './filters.ts'

export interface TableDescription {
  name: string
  columns: DescribedColumn[]
}

export interface DescribedColumn extends Column {
  /** All values of a text column that has few and short ones. */
  values?: string[]
}

const maxValues = 12
const maxValueCharacters = 24
const maxColumns = 60
const maxCharacters = 8_000

export async function describeTables(connection: DuckDBConnection, plan: DatabasePlan): Promise<TableDescription[]> {
  const tables: TableDescription[] = []
  for (const { name } of plan.tables) {
    const columns: DescribedColumn[] = []
    for (const column of await describe(connection, quoteName(name))) {
      const isShown = columns.length < maxColumns && column.type === 'VARCHAR'
      columns.push(isShown ? { ...column, values: await fewValues(connection, name, column.name) } : column)
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
  // One with a comma, a bracket or a line break would read as several, or as something else altogether.
  const isPlain = values.every((value) => value !== '' && value.length <= maxValueCharacters && !/[,()\p{Cc}]/u.test(value))
  return values.length > 0 && values.length <= maxValues && isPlain ? values.sort() : undefined
}

/**
 * One line per table, `- sales: date DATE, region VARCHAR (East, West)`. Values are data: where a filter or a withheld file
 * applies, they are to be left out.
 */
export function toTableLines(tables: readonly TableDescription[], options: { values: boolean }): string {
  const lines = tables.map(({ name, columns }) => {
    const shown = columns.slice(0, maxColumns).map((column) => toColumnText(column, options.values))
    return `- ${name}: ${[...shown, ...(columns.length > maxColumns ? ['...'] : [])].join(', ')}`
  })
  const text = lines.join('\n')
  if (text.length <= maxCharacters) return text
  return options.values ? toTableLines(tables, { values: false }) : `${text.slice(0, maxCharacters)}...`
}

function toColumnText({ name, type, values }: DescribedColumn, withValues: boolean): string {
  const shown = /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : quoteName(name.replaceAll(/\p{Cc}/gu, ' '))
  return withValues && values ? `${shown} ${type} (${values.join(', ')})` : `${shown} ${type}`
}
