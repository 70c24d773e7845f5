import type { DuckDBConnection } from '@duckdb/node-api'
import type { DatabasePlan } from './database.ts'
import { describe } from './database.ts'
import { quoteName } from './filters.ts'
import { maxColumns, type DescribedColumn, type TableDescription } from './table-lines.ts'

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
