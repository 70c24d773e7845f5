import { stem, wordsOf } from '../words.ts'
import type { Grain } from './dates.ts'
import type { NumberCondition } from './numbers.ts'
import type { Column, Table } from './tables.ts'

export type Aggregate = 'sum' | 'avg' | 'median' | 'count' | 'max' | 'min'

export interface Group {
  column: Column
  grain?: Grain
}

/** Interpretation of a question or part of a question. Open fields are undefined, and a follow-up takes them from the reading before. */
export interface Reading {
  table: Table
  /** Further tables for joins. */
  otherTables: readonly Table[]
  aggregate?: Aggregate
  /** Mentioned numeric columns. */
  measures: Column[]
  /** Text column whose distinct values are counted. */
  counted?: Column
  groups: Group[]
  /** Conditions on rows by subject. A later condition on the same subject replaces the earlier condition. */
  conditions: Map<string, { sql: string; column: Column; single: boolean }>
  numbers: NumberCondition[]
  order?: 'DESC' | 'ASC'
  limit?: number
  /** True if the question asks for rows, not for figures. */
  rows: boolean
  /** Text columns to show unchanged. */
  columns: Column[]
  share: boolean
  /** True for order by time, as in "latest" and "oldest". */
  byTime: boolean
  /** The understood words, for the reasoning. */
  hits: string[]
}

export function emptyReading(table: Table, otherTables: readonly Table[], hits: string[]): Reading {
  return {
    table,
    otherTables,
    measures: [],
    groups: [],
    conditions: new Map(),
    numbers: [],
    rows: false,
    columns: [],
    share: false,
    byTime: false,
    hits: [...hits],
  }
}

/** The text column that joins a table to another: the column that identifies the rows of the joined table. */
export function joinColumn(table: Table, joinedTable: Table): Column | undefined {
  const shared = joinedTable.columns.find(
    (column) => column.kind !== 'number' && column.kind !== 'date' && table.columns.some((tableColumn) => tableColumn.name === column.name),
  )
  if (!shared) return undefined
  const tableStems = wordsOf(joinedTable.name).map(stem)
  return wordsOf(shared.name).some((word) => tableStems.includes(stem(word))) ? shared : undefined
}

/** True if the name of a column suggests a distinct value for each row of the table. */
export function nameIsRow(table: Table, column: Column): boolean {
  const tableStems = wordsOf(table.name).map(stem)
  return wordsOf(column.name).some((word) => tableStems.includes(stem(word)))
}
