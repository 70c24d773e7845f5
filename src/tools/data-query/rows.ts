import {
  type DuckDBDataChunk,
  type DuckDBResult,
  type DuckDBValue,
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
  /** Maximum size of the rows as JSON text. */
  maxCharacters: number
}

/** Result of a query. `truncated`: the query has more rows. */
export interface QueryRows {
  columns: string[]
  rows: JsonValue[][]
  row_count: number
  truncated: boolean
}

/** Longer cells are cut, since a model reads tables and not documents. */
const maxCellCharacters = 2_000

/** Reads only the returned rows of a streaming result. Further rows are never computed. */
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

/** Converts a value to JSON without loss: a number outside the range of JSON becomes text. */
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

/** A double represents 15 decimal digits exactly. */
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
