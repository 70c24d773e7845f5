import type { Word } from '../language/words.ts'
import { revenueWords, type Mention } from './mentions.ts'
import type { Query } from './query.ts'
import { hasRevenue, isAdditive, joinColumn, mainMeasure, nameColumn, nameIsRow } from './tables.ts'

/** What a question is about: rows of the table, persons of a joined table, or figures. */

/** "Who spent the most?" ranks the customers of the orders, not the amounts, and "who placed order O-1?" asks for the name of its customer. */
export function groupByPerson(query: Query, words: readonly Word[]): void {
  const { table, tables, groups, columns, order } = query
  if (words[0]?.lower !== 'who' || groups.length > 0 || columns.length > 0) return
  const person = tables.find((other) => other !== table && joinColumn(table, other) && nameColumn(other)?.name === 'name')
  if (!person) return
  if ([...query.conditions.values()].some(({ column, isSingle }) => isSingle && nameIsRow(table, column))) columns.push(nameColumn(person)!)
  if (!order) return
  groups.push({ column: nameColumn(person)! })
  query.rows = false
}

/** Groups by names of customers instead of the keys by which orders refer to them, and by no column twice. */
export function nameGroups(query: Query): void {
  const { table, tables } = query
  const named = query.groups.map((group) => {
    const other = tables.find((candidate) => candidate !== table && joinColumn(table, candidate)?.name === group.column.name)
    const name = other?.columns.find((candidate) => candidate.kind === 'text' && candidate.name.toLowerCase() === 'name')
    return { ...group, column: group.column.table === table.name ? (name ?? group.column) : group.column }
  })
  query.groups = named.filter(({ column }, at) => named.findIndex((other) => other.column.name === column.name) === at)
  query.columns = query.columns.filter(({ name }) => !named.some(({ column }) => column.name === name))
}

/** "Orders by city" counts orders, and "orders from Lisbon" lists them, unless the name of the table stands for money, as "sales" does. */
export function readSubject(query: Query, words: readonly Word[], mentions: readonly Mention[]): void {
  const { table, aggregate, measures, conditions } = query
  const isOwn = mentions.some(
    (each) => each.kind === 'table' && each.table === table && each.isExact && !revenueWords.has(words[each.at]!.lower),
  )
  query.countsRows = isOwn && measures.length === 0 && ['count', 'sum', undefined].includes(aggregate)
  if (query.countsRows && !aggregate && query.groups.length === 0 && !query.order && !query.share) query.rows = true
  // "Has order O-1007 been cancelled?": the order is shown with its status, because a condition on both would hide the answer.
  const isYesNo = ['is', 'are', 'was', 'were', 'has', 'have', 'did', 'does'].includes(words[0]?.lower ?? '')
  const texts = [...conditions.values()].filter(({ column }) => column.kind === 'text')
  const key = texts.find(({ column, isSingle }) => isSingle && nameIsRow(table, column))
  if (!isYesNo || !key) return
  for (const { column } of texts.filter((condition) => condition !== key)) {
    conditions.delete(column.name)
    query.columns.push(column)
  }
  query.aggregate = undefined
  query.rows = true
}

/** Drops measures that are only limited, and an order for which there is no measure, such as "the highest wages". */
export function dropImplied(query: Query): void {
  const { table, groups, aggregate, numbers } = query
  const measures = query.measures.filter(({ name }) => !numbers.some(({ column }) => column?.name === name))
  const isList = query.measures.every((column) => column.table === table.name && !hasRevenue(table)) && aggregate === undefined
  if (measures.length > 0 || (groups.length === 0 && !isList)) query.measures = measures
  if (query.columns.some((column) => nameIsRow(table, column)) && aggregate === 'count') query.columns = []
  const main = mainMeasure(table)
  if (query.measures.length === 0 && groups.length === 0 && !query.byTime && !aggregate && !(main && isAdditive(main))) delete query.order
}
