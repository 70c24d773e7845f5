import type { DuckDBDataChunk, DuckDBResult, DuckDBValue } from '@duckdb/node-api'
import {
  DuckDBArrayValue,
  DuckDBDecimalValue,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBUnionValue,
} from '@duckdb/node-api'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'

export interface RowLimits {
  maxRows: number
  /** Of the rows as JSON text. */
  maxCharacters: number
}

/** What a query gave. `truncated` says that there is more than these rows. */
export interface QueryRows {
  columns: string[]
  rows: JsonValue[][]
  row_count: number
  truncated: boolean
}

/** A longer cell is cut: a model reads tables, not documents. */
const maxCellCharacters = 2_000

/** Reads no more of a streaming result than is shown; the rest is never computed. */
export async function readRows(result: DuckDBResult, limits: RowLimits): Promise<QueryRows> {
  const rows: JsonValue[][] = []
  let characters = 0
  let truncated = false
  while (!truncated) {
    const chunk = await result.fetchChunk()
    if (!chunk || chunk.rowCount === 0) break
    for (let index = 0; index < chunk.rowCount && !truncated; index++) {
      if (rows.length === limits.maxRows) truncated = true
      else {
        const row = toRow(chunk, index)
        characters += JSON.stringify(row).length + 1
        if (characters > limits.maxCharacters && rows.length > 0) truncated = true
        else rows.push(row)
      }
    }
  }
  return { columns: result.columnNames(), rows, row_count: rows.length, truncated }
}

function toRow(chunk: DuckDBDataChunk, index: number): JsonValue[] {
  return Array.from({ length: chunk.columnCount }, (_, column) => cutCell(toJson(chunk.getColumnVector(column).getItem(index))))
}

function cutCell(value: JsonValue): JsonValue {
  const text = typeof value === 'string' ? value : typeof value === 'object' && value !== null ? JSON.stringify(value) : ''
  return text.length > maxCellCharacters ? `${text.slice(0, maxCellCharacters)}… [cut: ${text.length} characters]` : value
}

/** JSON says the same wherever it can; a number that it can't hold becomes text. */
export function toJson(value: DuckDBValue): JsonValue {
  if (value === null || value === undefined) return null
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (value instanceof DuckDBDecimalValue) return toNumberIfExact(value.toString())
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) return value.items.map(toJson)
  if (value instanceof DuckDBStructValue) return toObject(Object.entries(value.entries))
  if (value instanceof DuckDBMapValue) return toObject(value.entries.map((entry) => [keyOf(entry.key), entry.value]))
  if (value instanceof DuckDBUnionValue) return toJson(value.value)
  return isTimestamp(value) ? value.toString().replace(' ', 'T') : String(value)
}

/** A double keeps 15 decimal digits. */
function toNumberIfExact(text: string): number | string {
  return text.replace(/\D/g, '').replace(/^0+/, '').length <= 15 ? Number(text) : text
}

function toObject(entries: [string, DuckDBValue][]): JsonObject {
  return Object.fromEntries(entries.map(([key, value]) => [key, toJson(value)]))
}

function keyOf(key: DuckDBValue): string {
  const json = toJson(key)
  return typeof json === 'string' ? json : JSON.stringify(json)
}

function isTimestamp(value: object): boolean {
  return [
    DuckDBTimestampValue,
    DuckDBTimestampTZValue,
    DuckDBTimestampSecondsValue,
    DuckDBTimestampMillisecondsValue,
    DuckDBTimestampNanosecondsValue,
  ].some((type) => value instanceof type)
}
