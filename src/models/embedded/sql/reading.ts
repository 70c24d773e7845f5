import { stem, wordsOf } from '../words.ts'
import type { Grain } from './dates.ts'
import type { NumberCondition } from './numbers.ts'
import type { Column, Table } from './tables.ts'

export type Aggregate = 'sum' | 'avg' | 'median' | 'count' | 'max' | 'min'

export interface Group {
  column: Column
  grain?: Grain
}

/** What a question, or a part of one, asks of the tables. What it leaves open is undefined, so that a follow-up can take it over. */
export interface Reading {
  table: Table
  /** The other tables, for joins. */
  others: readonly Table[]
  aggregate?: Aggregate
  /** Numeric columns that were named. */
  measures: Column[]
  /** A text column whose different values are counted. */
  counted?: Column
  groups: Group[]
  /** Conditions on rows, by what they are about: a later one on the same replaces it. */
  conditions: Map<string, { sql: string; column: Column; single: boolean }>
  numbers: NumberCondition[]
  order?: 'DESC' | 'ASC'
  limit?: number
  /** Rows are asked for, not figures. */
  rows: boolean
  /** Text columns that are asked for as they are. */
  columns: Column[]
  share: boolean
  /** "latest", "oldest": the order is that of time. */
  byTime: boolean
  /** The words that were understood, for the reasoning. */
  hits: string[]
}

export function emptyReading(table: Table, others: readonly Table[], hits: string[]): Reading {
  return {
    table,
    others,
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

/** The text column by which the rows of one table find theirs in another: what that other table is about. */
export function joinColumn(table: Table, other: Table): Column | undefined {
  const shared = other.columns.find(
    (column) => column.kind !== 'number' && column.kind !== 'date' && table.columns.some((own) => own.name === column.name),
  )
  if (!shared) return undefined
  const own = wordsOf(other.name).map(stem)
  return wordsOf(shared.name).some((word) => own.includes(stem(word))) ? shared : undefined
}

/** Whether each row of the table has its own value of the column, as its name says. */
export function nameIsRow(table: Table, column: Column): boolean {
  const own = wordsOf(table.name).map(stem)
  return wordsOf(column.name).some((word) => own.includes(stem(word)))
}
