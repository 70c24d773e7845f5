import { wordsOf } from '../words.ts'
import { readDates, type Grain } from './dates.ts'
import { chooseTable, findMentions, revenueWord, type Mention } from './mentions.ts'
import { readNumbers } from './numbers.ts'
import { emptyReading, joinColumn, type Reading } from './reading.ts'
import { isFollowedByValue, isGrouping, previousWord } from './roles.ts'
import { hasRevenue, isAdditive, mainMeasure, pieceMeasure, priceMeasure, type Column, type Table } from './tables.ts'
import { readQuoted, readValues } from './values.ts'

const descending =
  /\b(highest|largest|biggest|most|maximum|max|best|top|greatest|strongest|priciest|expensive|latest|newest|recent|leading|longest)\b/
const ascending = /\b(lowest|smallest|least|minimum|min|worst|fewest|weakest|bottom|poorest|cheapest|oldest|earliest|shortest)\b/
const numberNames = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']
/** The word "one" is left out: it is often part of a name and rarely a count. */
const smallNumbers = /\b(two|three|four|five|six|seven|eight|nine|ten)\b/gi
const superlatives = 'best|worst|highest|lowest|largest|biggest|smallest|top'
const placesBehind = new RegExp(`\\b(?:${superlatives}|bottom|first|last)\\s+(\\d{1,4})\\b`)
const placesBefore = new RegExp(`\\b(\\d{1,4})\\s+(?:\\w+[\\s-])?(?:${superlatives}|most|least|cheapest|rows)\\b`)
const grainWords: Record<string, Grain> = {
  month: 'month',
  months: 'month',
  monthly: 'month',
  quarter: 'quarter',
  quarters: 'quarter',
  quarterly: 'quarter',
  year: 'year',
  years: 'year',
  yearly: 'year',
  annual: 'year',
  week: 'week',
  weeks: 'week',
  weekly: 'week',
  day: 'day',
  days: 'day',
  daily: 'day',
}

/** Interprets a question about the tables; undefined if the question mentions no part of them. `previousTable` is the table of the question before. */
export function readQuestion(question: string, tables: readonly Table[], previousTable?: Table): Reading | undefined {
  const text = question.replace(smallNumbers, (word) => String(numberNames.indexOf(word.toLowerCase())))
  const firstWords = wordsOf(text)
  const allMentions = findMentions(firstWords, tables)
  const anyDate = tables.flatMap((table) => table.columns).find((column) => column.kind === 'date')
  const hasDate = anyDate !== undefined && readDates(text, anyDate).sql !== undefined
  const table =
    previousTable &&
    (hasDate || wordsOf(text).some((word) => word in grainWords) || allMentions.some((mention) => mention.table === previousTable))
      ? previousTable
      : (chooseTable(tables, allMentions, firstWords, hasDate) ?? previousTable ?? rankedInTime(text, tables))
  if (!table) return undefined
  const dateColumn = table.columns.find((column) => column.kind === 'date')
  const dates = dateColumn ? readDates(text, dateColumn) : { rest: text, hits: [] }
  const numbers = readNumbers(dates.rest, table.columns)
  const words = wordsOf(numbers.rest.replaceAll('§', ' zz '))
  const mentions = ownAndJoined(findMentions(words, tables), table)
  const reading = emptyReading(table, tables, dates.hits)
  reading.numbers = numbers.conditions
  readWords(reading, numbers.rest.toLowerCase())
  readImplied(reading, numbers.rest.toLowerCase(), words, mentions)
  readMentions(reading, words, mentions)
  readGrains(reading, words, dateColumn)
  if (dateColumn && dates.sql) reading.conditions.set(dateColumn.name, { sql: dates.sql, column: dateColumn, single: !dates.grain })
  if (dateColumn && dates.grain && reading.groups.length === 0) reading.groups.push({ column: dateColumn, grain: dates.grain })
  readQuoted(reading, text)
  dropLimited(reading)
  dropBlindOrder(reading)
  const understood = mentions.length > 0 || dates.sql !== undefined || reading.groups.length > 0 || reading.measures.length > 0
  return understood || previousTable ? reading : undefined
}

/** "Which month was the best?" mentions only time, so the question is about the table with revenue. */
function rankedInTime(text: string, tables: readonly Table[]): Table | undefined {
  const lower = text.toLowerCase()
  const asks = (descending.test(lower) || ascending.test(lower)) && /\b(month|quarter|year|week|day)s?\b/.test(lower)
  return asks ? tables.find((table) => hasRevenue(table) && table.columns.some((column) => column.kind === 'date')) : undefined
}

/** Mentions of the table, and mentions of joinable tables at other words. */
function ownAndJoined(mentions: readonly Mention[], table: Table): Mention[] {
  const tableMentions = mentions.filter((mention) => mention.table === table)
  const isFree = (mention: Mention) =>
    !tableMentions.some(
      (tableMention) => tableMention.at < mention.at + mention.length && mention.at < tableMention.at + tableMention.length,
    )
  const joined = mentions.filter(
    (mention) =>
      mention.table !== table && mention.kind !== 'table' && mention.weight > 1 && isFree(mention) && joinColumn(table, mention.table),
  )
  return [...tableMentions, ...joined].toSorted((a, b) => a.at - b.at)
}

function readWords(reading: Reading, text: string): void {
  if (/\b(average|mean|avg|typical|typically)\b/.test(text)) reading.aggregate = 'avg'
  else if (/\bmedian\b/.test(text)) reading.aggregate = 'median'
  else if (/\b(how many|number of|count)\b/.test(text)) reading.aggregate = 'count'
  else if (/\b(total|totals|sum|overall|altogether|combined|how much)\b/.test(text)) reading.aggregate = 'sum'
  if (ascending.test(text)) reading.order = 'ASC'
  else if (descending.test(text)) reading.order = 'DESC'
  const places = placesBehind.exec(text)?.[1] ?? placesBefore.exec(text)?.[1]
  if (places) reading.limit = Number(places)
  reading.share = /\b(share|percentage|percent|proportion)\b/.test(text)
  reading.rows =
    /^\W*(please )?(can you )?(list|show|display|give me|print|which|who|what|see)\b/.test(text) && !/\bhow (much|many)\b/.test(text)
  reading.byTime = /\b(latest|newest|most recent|oldest|earliest)\b/.test(text)
}

/** Adds measures implied by words: prices by "cheap", quantities by "how many ... sold", money by "sales". */
function readImplied(reading: Reading, text: string, words: readonly string[], mentions: readonly Mention[]): void {
  const { table, aggregate } = reading
  const namesNumber = mentions.some((mention) => mention.column?.kind === 'number')
  const price = /\b(expensive|cheap|cheapest|priciest)\b/.test(text) ? priceMeasure(table) : undefined
  if (price && !namesNumber) reading.measures.push(price)
  if (price && /\bcheap\b/.test(text)) reading.order ??= 'ASC'
  const isSold = /\b(sold|sell)\b/.test(text) && !/\b(different|distinct|unique)\b/.test(text)
  const pieces = aggregate === 'count' && isSold ? pieceMeasure(table) : undefined
  if (pieces) return pushOnce(reading.measures, pieces)
  const listsLimited = reading.rows && reading.numbers.length > 0 && /^\W*(list|show|display|print)\b/.test(text)
  const asksRows = listsLimited || /\b(rows|records|entries|transactions)\b/.test(text)
  const main = mainMeasure(table)
  const asksMoney = hasRevenue(table) && words.some((word) => revenueWord.test(word)) && aggregate !== 'count'
  if (main && asksMoney && !asksRows && !namesNumber) reading.measures.push(main)
}

function readMentions(reading: Reading, words: readonly string[], mentions: readonly Mention[]): void {
  for (const [index, mention] of mentions.entries()) {
    const { column } = mention
    reading.hits.push(words.slice(mention.at, mention.at + mention.length).join(' '))
    if (!column) continue
    if (mention.kind === 'value') continue
    // A column with the name of the table counts only if the surrounding words give the column a role.
    const isTable = mentions.some(
      (candidate) => candidate.kind === 'table' && candidate.at === mention.at && candidate.table === reading.table,
    )
    if (column.kind === 'number') pushOnce(reading.measures, column)
    else if (isGrouping(reading, words, mentions, index)) reading.groups.push({ column })
    else if (isTable) continue
    else if (
      reading.aggregate === 'count' &&
      /^(many|of|count)$/.test(previousWord(words, mention.at, false)) &&
      reading.measures.length === 0
    )
      reading.counted = column
    else if (column.kind === 'text' && !isFollowedByValue(mentions, index)) reading.columns.push(column)
    else if (column.kind === 'date' && !/^(zz)$/.test(words[mention.at - 1] ?? '')) reading.columns.push(column)
  }
  readValues(reading, words, mentions)
  const grouped = new Set<string>()
  reading.groups = reading.groups.filter(({ column }) => !grouped.has(column.name) && grouped.add(column.name))
  reading.columns = reading.columns.filter((column) => !grouped.has(column.name))
}

function readGrains(reading: Reading, words: readonly string[], dateColumn: Column | undefined): void {
  if (!dateColumn) return
  for (const [at, word] of words.entries()) {
    const grain = grainWords[word]
    if (!grain || (grain === 'day' && word === 'days')) continue
    const before = previousWord(words, at)
    const isOwn = /ly$|^annual$/.test(word)
    const isSecond = before === 'and' && reading.groups.length > 0
    const isCounted = reading.order !== undefined && reading.limit !== undefined && words[at - 1] === String(reading.limit)
    const leads =
      isCounted ||
      /^(by|per|each|every|which|what|best|worst|top|strongest|weakest|compare)$/.test(before) ||
      isOwn ||
      isSecond ||
      (reading.order !== undefined && /^(highest|lowest|largest|smallest|busiest)$/.test(before))
    if (leads) {
      reading.groups.push({ column: dateColumn, grain })
      reading.hits.push(word)
    }
  }
  const words2 = words.join(' ')
  if (/\b(over time|trend|development|evolve|evolved|develop|developed)\b/.test(words2) && !reading.groups.some((group) => group.grain)) {
    reading.groups.push({ column: dateColumn, grain: 'month' })
  }
}

/** True for an unknown measure such as "the highest margin" in a table without a margin. No other column replaces the measure. */
function dropBlindOrder(reading: Reading): void {
  const { table, measures, groups, byTime, aggregate } = reading
  const main = mainMeasure(table)
  if (measures.length === 0 && groups.length === 0 && !byTime && !aggregate && !(main && isAdditive(main))) delete reading.order
}

/** Removes columns used only in conditions from the measures, unless the condition limits the figures of groups. */
function dropLimited(reading: Reading): void {
  const measures = reading.measures.filter((column) => !reading.numbers.some((number) => number.column?.name === column.name))
  const isListed =
    reading.measures.every((column) => column.table === reading.table.name && !hasRevenue(reading.table)) && reading.aggregate === undefined
  if (measures.length > 0 || (reading.groups.length === 0 && !isListed)) reading.measures = measures
}

function pushOnce(columns: Column[], column: Column): void {
  if (!columns.some((existing) => existing.name === column.name)) columns.push(column)
}
