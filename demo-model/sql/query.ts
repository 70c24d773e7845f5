import type { GroupGrain, NumberCondition } from './conditions.ts'
import type { Today } from './periods.ts'
import { isStock, type Column, type Table } from './tables.ts'

export type Aggregate = 'sum' | 'avg' | 'median' | 'count' | 'max' | 'min'

export interface Group {
  column: Column
  grain?: GroupGrain
  /** True for "per region" and "in each region". */
  isEach?: boolean
}

export interface Condition {
  sql: string
  column: Column
  /** True if a single value or time is left. */
  isSingle: boolean
  /** In words: "region North", "in March 2025". */
  text: string
}

/** A question about tables. Fields that a question leaves open are taken from the question before, if it is a follow-up. */
export interface Query {
  table: Table
  /** All tables, for joins. */
  tables: readonly Table[]
  aggregate?: Aggregate | undefined
  /** Mentioned numeric columns. */
  measures: Column[]
  /** Text column for a count of distinct values. */
  counted?: Column
  groups: Group[]
  /** Conditions on rows by column. A later condition on the same column replaces the earlier. */
  conditions: Map<string, Condition>
  numbers: NumberCondition[]
  order?: 'DESC' | 'ASC'
  /** True if the order is that of a list: "by region", "products". */
  isListed?: boolean
  limit?: number
  /** True if the question asks for rows, not for figures. */
  rows: boolean
  /** Columns to show unchanged. */
  columns: Column[]
  share: boolean
  /** True for "how often was each one used": a figure for each row of the answer before. */
  isEach?: boolean
  /** True if the rows of the table are the subject: "orders by city". */
  countsRows?: boolean
  /** How figures of several rows are compared in the answer. */
  compares?: 'growth' | 'difference'
  /** True for an order by time, as in "latest" and "oldest". */
  byTime: boolean
  /** Understood words, for the reasoning. */
  hits: string[]
  /** Words without a meaning in the tables. */
  unused: string[]
  /** Notes for the answer: how a word or a time was understood. */
  notes: string[]
  /** Why the question has no answer. */
  fault?: string | undefined
  needs?: keyof Today | undefined
}

export function emptyQuery(table: Table, tables: readonly Table[]): Query {
  const lists = { measures: [], groups: [], numbers: [], columns: [], hits: [], unused: [], notes: [] }
  return { table, tables, ...lists, conditions: new Map(), rows: false, share: false, byTime: false }
}

/** Merges a follow-up with the query before: "and for the South?" keeps the measure and the time, and replaces the region. */
export function mergeQueries(before: Query, next: Query): Query {
  const isReplaced = ({ column, grain }: Group) => grain === undefined && next.conditions.get(column.name)?.isSingle === true
  const hasFigure = next.measures.length > 0
  const asksAnew = hasFigure || next.aggregate !== undefined
  const isGrouped = next.groups.length > 0
  // "Which of them sold best?" ranks the groups before, and asks for no rows.
  const ranksGroups = next.order !== undefined && next.rows && before.groups.length > 0 && !isGrouped
  const query: Query = {
    ...before,
    ...next,
    table: before.table,
    conditions: new Map([...before.conditions, ...next.conditions]),
    measures: hasFigure ? next.measures : before.measures,
    groups: isGrouped
      ? next.groups
      : next.isEach && before.columns.length > 0
        ? before.columns.map((column) => ({ column }))
        : asksAnew && before.rows && !ranksGroups
          ? []
          : before.groups.filter((group) => !isReplaced(group)),
    numbers: next.numbers.length > 0 ? next.numbers : before.numbers,
    rows: (next.rows && !ranksGroups) || (before.rows && !asksAnew),
    columns: next.columns.length > 0 && !isGrouped ? next.columns : asksAnew || isGrouped ? [] : before.columns,
    share: next.share || before.share,
    byTime: next.order ? next.byTime : before.byTime,
    hits: [...before.hits, ...next.hits],
    // Words without a meaning before have no meaning now.
    unused: [...new Set([...before.unused, ...next.unused])],
    notes: [...new Set([...before.notes, ...next.notes])],
    needs: next.needs ?? before.needs,
  }
  if (hasFigure && !next.counted) delete query.counted
  // "How many customers are gold?" "Who are they?"
  if (next.rows && !asksAnew && !isGrouped && !next.order && before.aggregate === 'count') delete query.aggregate
  if (next.aggregate !== 'count' || hasFigure || next.counted) return query
  const stock = before.table.columns.find(isStock)
  query.measures = stock && before.conditions.size > 0 && !next.countsRows ? [stock] : []
  if (stock) delete query.aggregate
  return query
}
