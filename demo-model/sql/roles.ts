import { claim, claimWhere, exclusionOf } from '../language/phrases.ts'
import { setOf, type Word } from '../language/words.ts'
import { revenueWords, type Mention } from './mentions.ts'
import type { Query } from './query.ts'
import { hasRevenue, isAdditive, joinColumn, mainMeasure, nameColumn, nameIsRow, quoteName, quoteText } from './tables.ts'

/** Roles of columns and values in a question, by the words around them. */

/** "Region North". */
export function isFollowedByValue(mentions: readonly Mention[], { column, at }: Mention): boolean {
  return mentions.some((neighbour) => {
    if (neighbour.kind !== 'value' || neighbour.column !== column) return false
    return (neighbour.at > at && neighbour.at - at <= 2) || neighbour.at + neighbour.length === at
  })
}

/** "By region, except North". */
export function isExcluding(words: readonly Word[], mentions: readonly Mention[], { column }: Mention): boolean {
  return mentions.some(
    (neighbour) =>
      neighbour.kind === 'value' && neighbour.column === column && exclusionOf(words, neighbour.at, neighbour.length).length > 0,
  )
}

export const separators = setOf('by per each every across between')
const leads = setOf(
  'which what top best worst compare highest lowest strongest weakest largest biggest bottom selling seller the how most least fewest popular',
)

/** True for grouping: "by region", "per region and month", "which region", "top 3 regions", "compare regions". */
export function isGrouping(query: Query, words: readonly Word[], mentions: readonly Mention[], mention: Mention): boolean {
  const column = mention.column!
  // In "by product category" the word before the noun is "by".
  const noun = mentions.find(
    (neighbour) => neighbour.column?.kind === 'text' && neighbour.kind === 'column' && neighbour.at + neighbour.length === mention.at,
  )
  const at = noun?.at ?? mention.at
  const before = previousWord(words, at)
  const isExclusive = isExcluding(words, mentions, mention)
  if (isFollowedByValue(mentions, mention) && !isExclusive) return false
  if (separators.has(before)) return true
  if (before === 'and' && words.slice(Math.max(0, at - 4), at).some(({ lower }) => ['by', 'per', 'each'].includes(lower))) return true
  const asksFigure = query.order !== undefined || query.measures.length > 0 || query.numbers.length > 0 || query.share
  const isLed = leads.has(before) || ['date', 'number'].includes(words[at - 1]?.use ?? '')
  const isOwn = query.table.columns.some(({ name }) => name === column.name) || (hasRevenue(query.table) && column.kind === 'text')
  const namesRow = nameIsRow(query.table, column) && !words.some(({ lower }) => lower === 'compare')
  return column.kind !== 'date' && asksFigure && isLed && query.aggregate !== 'count' && isOwn && !namesRow
}

const skipped = setOf('the a an our different distinct unique single best')

/** The word before position `at`, without articles, numbers and similar words. */
export function previousWord(words: readonly Word[], at: number, skipsOf = true): string {
  const before = words.slice(0, at)
  const word = before.findLast(({ lower }) => !skipped.has(lower) && !/^\d+$/.test(lower) && !(skipsOf && lower === 'of'))
  return (word ?? before[0])?.lower ?? ''
}

/** "Launched in 2024": the column of dates is a condition already. */
export function hasTimeNear(words: readonly Word[], at: number): boolean {
  return words.slice(Math.max(0, at - 1), at + 5).some(({ use }) => use === 'date')
}

const notWords = setOf("no not without never non missing isn't aren't wasn't weren't")

/** "Without a rating", "used a coupon", "organic teas", "were discontinued": whether a column has a value. */
export function readPresence(query: Query, words: readonly Word[], mentions: readonly Mention[], mention: Mention): boolean {
  const { column, at, length } = mention
  if (!column || column.table !== query.table.name || isFollowedByValue(mentions, mention)) return false
  const near = words.slice(Math.max(0, at - 3), at)
  const before = (names: string) => near.some(({ lower }) => names.split(' ').includes(lower))
  const isNot = near.some(({ lower }) => notWords.has(lower))
  const isLimited = words.slice(at + length, at + length + 3).some(({ use }) => use === 'number')
  const has = !isLimited && before('a any') && before('have has had with used use left got')
  const isDone =
    column.kind === 'date' && words[at]!.lower.endsWith('ed') && before('is are was were been get got') && !hasTimeNear(words, at)
  const isAdjective = column.kind === 'boolean' && !['by', 'per'].includes(near.at(-1)?.lower ?? '')
  if (!isNot && !has && !isDone && !isAdjective) return false
  const name = quoteName(column.name)
  const sql = isAdjective ? `${name} = ${isNot ? 'false' : 'true'}` : `${name} IS ${isNot ? '' : 'NOT '}NULL`
  const text = `${isNot ? 'without' : 'with'} ${column.name.replaceAll('_', ' ')}`
  if (query.share && isAdjective) query.groups.push({ column })
  else query.conditions.set(column.name, { sql, column, isSingle: false, text })
  if (query.aggregate !== 'count' && !query.share) query.rows = true
  claimWhere(near, 'value', ({ lower, use }) => use === undefined && (notWords.has(lower) || ['used', 'left'].includes(lower)))
  return true
}

/** Makes conditions of the values in a question. Several values of a column are also groups: "North and South". */
export function readValues(query: Query, words: readonly Word[], mentions: readonly Mention[]): void {
  const byColumn = Map.groupBy(
    mentions.filter(({ kind }) => kind === 'value'),
    ({ column }) => column!,
  )
  for (const [column, columnMentions] of byColumn) {
    const [excluded, included] = splitValues(words, columnMentions)
    const isNot = included.length === 0
    const name = quoteName(column.name)
    const terms = [
      ...(isNot
        ? []
        : [included.length === 1 ? `${name} = ${quoteText(included[0]!)}` : `${name} IN (${included.map(quoteText).join(', ')})`]),
      ...excluded.map((value) => `${name} IS DISTINCT FROM ${quoteText(value)}`),
    ]
    const texts = [included.join(' or '), excluded.length > 0 ? `other than ${excluded.join(' or ')}` : ''].filter(Boolean)
    const text = `${column.name.replaceAll('_', ' ')} ${texts.join(', ')}`
    if (query.share && !isNot) query.hits.push(...included)
    else query.conditions.set(column.name, { sql: terms.join(' AND '), column, isSingle: included.length === 1, text })
    const isTogether = words.some(({ lower }) => ['combined', 'together'].includes(lower))
    const asksRows = query.rows && query.measures.length === 0 && query.aggregate === undefined
    if (query.share || (!asksRows && included.length > 1 && !isTogether)) query.groups.push({ column })
  }
}

/** The excluded and the included values of a column. "Without tea and coffee" excludes both. */
function splitValues(words: readonly Word[], mentions: readonly Mention[]): [excluded: string[], included: string[]] {
  const excluded = new Set<Mention>()
  for (const [index, mention] of mentions.entries()) {
    const before = mentions[index - 1]
    const joined = before && excluded.has(before) ? words.slice(before.at + before.length, mention.at) : undefined
    const exclusion = exclusionOf(words, mention.at, mention.length)
    claim(exclusion, 'value')
    if (exclusion.length > 0 || joined?.every(({ lower }) => ['and', 'or', 'nor', 'the', 'any'].includes(lower))) excluded.add(mention)
  }
  const valuesOf = (isExcluded: boolean) => [
    ...new Set(mentions.filter((mention) => excluded.has(mention) === isExcluded).flatMap(({ values }) => values)),
  ]
  return [valuesOf(true), valuesOf(false)]
}

/** The subject of a question: rows of the table, persons of a joined table, or figures. */

/** "Who spent the most?" ranks the customers of the orders, not the amounts, and "who placed order O-1?" asks for the name of its customer. */
export function groupByPerson(query: Query, words: readonly Word[]): void {
  const { table, tables, groups, columns, order } = query
  if (words[0]?.lower !== 'who' || groups.length > 0 || columns.length > 0) return
  const person = tables.find((candidate) => candidate !== table && joinColumn(table, candidate) && nameColumn(candidate)?.name === 'name')
  if (!person) return
  if ([...query.conditions.values()].some(({ column, isSingle }) => isSingle && nameIsRow(table, column))) columns.push(nameColumn(person)!)
  if (!order) return
  groups.push({ column: nameColumn(person)! })
  query.rows = false
}

/** Groups by names of customers instead of the keys by which orders refer to them, and by no column twice. */
export function nameGroups(query: Query): void {
  const { table, tables } = query
  const groups = query.groups.map((group) => {
    const joined = tables.find((candidate) => candidate !== table && joinColumn(table, candidate)?.name === group.column.name)
    const name = joined?.columns.find((candidate) => candidate.kind === 'text' && candidate.name.toLowerCase() === 'name')
    return { ...group, column: group.column.table === table.name ? (name ?? group.column) : group.column }
  })
  query.groups = groups.filter(({ column }, at) => groups.findIndex((group) => group.column.name === column.name) === at)
  query.columns = query.columns.filter(({ name }) => !groups.some(({ column }) => column.name === name))
}

/** "Orders by city" counts orders, and "orders from Lisbon" lists them, unless the name of the table stands for money, as "sales" does. */
export function readSubject(query: Query, words: readonly Word[], mentions: readonly Mention[]): void {
  const { table, aggregate, measures, conditions } = query
  const isOwn = mentions.some(
    (mention) => mention.kind === 'table' && mention.table === table && mention.isExact && !revenueWords.has(words[mention.at]!.lower),
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
