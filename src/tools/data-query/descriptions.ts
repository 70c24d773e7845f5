import { quoteName, type Column } from './filters.ts'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { writeWhole } from '../../files/write-whole.ts'
import type { TableSource } from './tables.ts'

export interface TableDescription {
  name: string
  columns: DescribedColumn[]
}

export interface DescribedColumn extends Column {
  /** All values of a text column with few and short values. */
  values?: string[]
}

/** Columns of a table that are described. */
export const maxColumns = 60
const maxCharacters = 8_000

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

/** Changed whenever DuckDB or a description changes. */
const version = 1

/** Keeps the descriptions of a tool's tables in `cacheDir`, so that a start with unchanged files needs no query process. */
export function createKeptDescriptions(tool: string, cacheDir: string) {
  const file = path.join(cacheDir, `tables-${createHash('sha256').update(tool).digest('hex').slice(0, 24)}.json`)
  const keyOf = (sources: readonly TableSource[]) => JSON.stringify([version, sources])
  return {
    /** The descriptions of exactly these files, or undefined. */
    async find(sources: readonly TableSource[]): Promise<TableDescription[] | undefined> {
      try {
        const { key, tables } = JSON.parse(await readFile(file, 'utf8')) as { key: string; tables: TableDescription[] }
        return key === keyOf(sources) ? tables : undefined
      } catch {
        return undefined
      }
    },
    keep: (sources: readonly TableSource[], tables: readonly TableDescription[]) =>
      writeWhole(file, JSON.stringify({ key: keyOf(sources), tables })),
  }
}
