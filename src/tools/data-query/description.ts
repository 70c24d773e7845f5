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
  /** All values of a text column with few and short values. */
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

/**
 * A line for each table: `- sales: date DATE, region VARCHAR (East, West)`. Values are data and must be left out in a restricted scope
 * (`values: false`).
 */
export function toTableLines(tables: readonly TableDescription[], options: { values: boolean }): string {
  const lines = tables.map(({ name, columns }) => {
    const texts = columns.slice(0, maxColumns).map((column) => toColumnText(column, options.values))
    return `- ${name}: ${[...texts, ...(columns.length > maxColumns ? ['...'] : [])].join(', ')}`
  })
  const text = lines.join('\n')
  if (text.length <= maxCharacters) return text
  return options.values ? toTableLines(tables, { values: false }) : `${text.slice(0, maxCharacters)}...`
}

function toColumnText({ name, type, values }: DescribedColumn, withValues: boolean): string {
  const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : quoteName(name.replaceAll(/\p{Cc}/gu, ' '))
  return withValues && values ? `${identifier} ${type} (${values.join(', ')})` : `${identifier} ${type}`
}
