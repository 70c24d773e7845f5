import type { ColumnType } from './columns.ts'

/** The rows of a statement about a group of chats, as a JSON array. */

/** A row of a group: the values of its columns. */
export type RowOf<Columns extends Readonly<Record<string, ColumnType>>> = {
  [Column in keyof Columns]: Columns[Column] extends 'text' ? string | null : Columns[Column] extends 'boolean' ? boolean : number | null
}

/** The rows of a JSON array in the parameter $2, as the table `chat`; the column `n` is the position of the row, from 1. */
export function recordset(columns: Readonly<Record<string, ColumnType>>): string {
  return `rows from (json_to_recordset(cast($2 as json)) as (${definitionsOf(columns)})) with ordinality as chat (${namesOf(columns)}, n)`
}

export function namesOf(columns: object): string {
  return Object.keys(columns).join(', ')
}

export function definitionsOf(columns: Readonly<Record<string, ColumnType>>): string {
  return Object.entries(columns)
    .map(([name, type]) => `${name} ${type}`)
    .join(', ')
}

export function literalsOf(constants: Readonly<Record<string, number | ''>>): string {
  return Object.values(constants)
    .map((value) => (value === '' ? "''" : value))
    .join(', ')
}

/** Longer chats are stored alone, so that they delay no others. In characters of JSON. */
export const maxRowLength = 16_384

/** The JSON of a row; undefined where the row is too long, or where Postgres refuses an escape in it: of NUL or of half a surrogate pair. */
export function toRowJson(row: object): string | undefined {
  const text = JSON.stringify(row)
  return text.length > maxRowLength || refusedEscape.test(text) ? undefined : text
}

const refusedEscape = /\\u(?:0000|d[89a-f])/
