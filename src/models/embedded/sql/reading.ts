import { isStopWord, stem, wordsOf } from '../words.ts'
import { readDates, type Grain } from './dates.ts'
import { chooseTable, findMentions, revenueWord, type Mention } from './mentions.ts'
import { readNumbers, type NumberCondition } from './numbers.ts'
import { hasRevenue, mainMeasure, nameColumn, pieceMeasure, priceMeasure, quoteName, quoteText, type Column, type Table } from './tables.ts'

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

const descending =
  /\b(highest|largest|biggest|most|maximum|max|best|top|greatest|strongest|priciest|expensive|latest|newest|recent|leading|longest)\b/
const ascending = /\b(lowest|smallest|least|minimum|min|worst|fewest|weakest|bottom|poorest|cheapest|oldest|earliest|shortest)\b/
const grainWords: Record<string, Grain> = {
  ...{ month: 'month', months: 'month', monthly: 'month', quarter: 'quarter', quarters: 'quarter', quarterly: 'quarter' },
  ...{
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
  },
}

/** Reads a question against the tables; undefined when it names nothing of them. `about` is the table of the question before. */
export function readQuestion(text: string, tables: readonly Table[], about?: Table): Reading | undefined {
  const firstWords = wordsOf(text)
  const allMentions = findMentions(firstWords, tables)
  const anyDate = tables.flatMap((table) => table.columns).find((column) => column.kind === 'date')
  const hasDate = anyDate !== undefined && readDates(text, anyDate).sql !== undefined
  const table =
    about && (hasDate || wordsOf(text).some((word) => word in grainWords) || allMentions.some((mention) => mention.table === about))
      ? about
      : (chooseTable(tables, allMentions, firstWords, hasDate) ?? about ?? rankedInTime(text, tables))
  if (!table) return undefined
  const dateColumn = table.columns.find((column) => column.kind === 'date')
  const dates = dateColumn ? readDates(text, dateColumn) : { rest: text, hits: [] }
  const numbers = readNumbers(dates.rest, table.columns)
  const words = wordsOf(numbers.rest.replaceAll('§', ' zz '))
  const mentions = ownAndJoined(findMentions(words, tables), table)
  const reading = emptyReading(table, tables, dates.hits)
  reading.numbers = numbers.conditions
  readWords(reading, numbers.rest.toLowerCase(), words, mentions)
  readMentions(reading, words, mentions)
  readGrains(reading, words, dateColumn)
  if (dateColumn && dates.sql) reading.conditions.set(dateColumn.name, { sql: dates.sql, column: dateColumn, single: !dates.grain })
  if (dateColumn && dates.grain && reading.groups.length === 0) reading.groups.push({ column: dateColumn, grain: dates.grain })
  readQuoted(reading, text)
  dropLimited(reading)
  const understood = mentions.length > 0 || dates.sql !== undefined || reading.groups.length > 0 || reading.measures.length > 0
  return understood || about ? reading : undefined
}

/** "Which month was the best?" names nothing but time: it is about the table that has money in it. */
function rankedInTime(text: string, tables: readonly Table[]): Table | undefined {
  const lower = text.toLowerCase()
  const asks = (descending.test(lower) || ascending.test(lower)) && /\b(month|quarter|year|week|day)s?\b/.test(lower)
  return asks ? tables.find((table) => hasRevenue(table) && table.columns.some((column) => column.kind === 'date')) : undefined
}

function emptyReading(table: Table, others: readonly Table[], hits: string[]): Reading {
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

/** Mentions of the table, and of others at words that it leaves free when a column in common leads there. */
function ownAndJoined(mentions: readonly Mention[], table: Table): Mention[] {
  const own = mentions.filter((mention) => mention.table === table)
  const isFree = (mention: Mention) => !own.some((other) => other.at < mention.at + mention.length && mention.at < other.at + other.length)
  const joined = mentions.filter(
    (mention) =>
      mention.table !== table && mention.kind !== 'table' && mention.weight > 1 && isFree(mention) && joinColumn(table, mention.table),
  )
  return [...own, ...joined].toSorted((a, b) => a.at - b.at)
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

function readWords(reading: Reading, text: string, words: readonly string[], mentions: readonly Mention[]): void {
  if (/\b(average|mean|avg|typical|typically)\b/.test(text)) reading.aggregate = 'avg'
  else if (/\bmedian\b/.test(text)) reading.aggregate = 'median'
  else if (/\b(how many|number of|count)\b/.test(text)) reading.aggregate = 'count'
  else if (/\b(total|totals|sum|overall|altogether|combined|how much)\b/.test(text)) reading.aggregate = 'sum'
  if (ascending.test(text)) reading.order = 'ASC'
  else if (descending.test(text)) reading.order = 'DESC'
  if (reading.order === 'DESC' && /\bleast\b/.test(text)) reading.order = 'ASC'
  const count =
    /\b(?:top|bottom|first|last|best|worst|highest|lowest|largest|biggest|smallest)\s+(\d{1,4})\b|\b(\d{1,4})\s+(?:\w+[\s-])?(?:best|worst|highest|lowest|largest|biggest|smallest|top|most|least|cheapest|rows)\b/.exec(
      text,
    )
  if (count) reading.limit = Number(count[1] ?? count[2])
  reading.share = /\b(share|percentage|percent|proportion)\b/.test(text)
  reading.rows =
    /^\W*(please )?(can you )?(list|show|display|give me|print|which|who|what|see)\b/.test(text) && !/\bhow (much|many)\b/.test(text)
  reading.byTime = /\b(latest|newest|most recent|oldest|earliest)\b/.test(text)
  const asksRows =
    /\b(rows|records|entries|transactions)\b/.test(text) ||
    (reading.rows && reading.numbers.length > 0 && /^\W*(list|show|display|print)\b/.test(text))
  const price = /\b(expensive|cheap|cheapest|priciest)\b/.test(text) ? priceMeasure(reading.table) : undefined
  if (price && !mentions.some((mention) => mention.column?.kind === 'number')) reading.measures.push(price)
  if (price && /\bcheap\b/.test(text)) reading.order ??= 'ASC'
  const asksPieces =
    reading.aggregate === 'count' && /\b(sold|sell)\b/.test(text) && !/\b(different|distinct|unique)\b/.test(text)
      ? pieceMeasure(reading.table)
      : undefined
  if (asksPieces) reading.measures.push(asksPieces)
  const main = mainMeasure(reading.table)
  if (
    main &&
    !asksPieces &&
    !asksRows &&
    hasRevenue(reading.table) &&
    words.some((word) => revenueWord.test(word)) &&
    reading.aggregate !== 'count' &&
    !mentions.some((mention) => mention.column?.kind === 'number')
  ) {
    reading.measures.push(main)
  }
}

function readMentions(reading: Reading, words: readonly string[], mentions: readonly Mention[]): void {
  for (const [index, mention] of mentions.entries()) {
    const { column } = mention
    reading.hits.push(words.slice(mention.at, mention.at + mention.length).join(' '))
    if (!column) continue
    if (mention.kind === 'value') continue
    // The table's own name is a column only where the words around it make it one.
    const isTable = mentions.some((other) => other.kind === 'table' && other.at === mention.at && other.table === reading.table)
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

function isFollowedByValue(mentions: readonly Mention[], index: number): boolean {
  const mention = mentions[index]!
  return mentions.some((other) => {
    if (other.kind !== 'value' || other.column !== mention.column) return false
    return (other.at > mention.at && other.at - mention.at <= 2) || other.at + other.length === mention.at
  })
}

/** "by region", "per region and month", "which region", "top 3 regions", "compare regions". */
function isGrouping(reading: Reading, words: readonly string[], mentions: readonly Mention[], index: number): boolean {
  const mention = mentions[index]!
  const before = previousWord(words, mention.at)
  if (/^(by|per|each|every|across|between)$/.test(before)) return !isFollowedByValue(mentions, index)
  const last = reading.groups.at(-1)
  if (before === 'and' && last && /\b(by|per|each)\b/.test(words.slice(Math.max(0, mention.at - 4), mention.at).join(' '))) return true
  if (isFollowedByValue(mentions, index) || mention.column!.kind === 'date') return false
  const asksFigure = reading.order !== undefined || reading.measures.length > 0 || reading.numbers.length > 0 || reading.share
  const leads =
    /^(which|what|top|best|worst|compare|highest|lowest|strongest|weakest|zz|largest|biggest|bottom|selling|seller|the|how)$/.test(before)
  return (
    asksFigure &&
    leads &&
    reading.aggregate !== 'count' &&
    reading.table.columns.some((column) => column.name === mention.column!.name) &&
    !(nameIsRow(reading.table, mention.column!) && !words.includes('compare'))
  )
}

/** Whether each row of the table has its own value of the column, as its name says. */
export function nameIsRow(table: Table, column: Column): boolean {
  const own = wordsOf(table.name).map(stem)
  return wordsOf(column.name).some((word) => own.includes(stem(word)))
}

/** The word that leads to the one at `at`, over articles and the like. */
function previousWord(words: readonly string[], at: number, skipsOf = true): string {
  for (let place = at - 1; place >= 0; place--) {
    const word = words[place]!
    if (!/^(the|a|an|our|different|distinct|unique|single|\d+|best)$/.test(word) && !(skipsOf && word === 'of')) return word
  }
  return at > 0 ? words[0]! : ''
}

function readValues(reading: Reading, words: readonly string[], mentions: readonly Mention[]): void {
  const columns = new Set(mentions.flatMap((mention) => (mention.kind === 'value' && mention.column ? [mention.column] : [])))
  for (const column of columns) {
    const own = mentions.filter((mention) => mention.kind === 'value' && mention.column === column)
    const values = [...new Set(own.flatMap((mention) => mention.values))]
    const before = words.slice(Math.max(0, own[0]!.at - 4), own[0]!.at)
    const isExcluded = before.some((word) => /^(except|excluding|without|not|outside)$/.test(word))
    const name = quoteName(column.name)
    const list = values.map(quoteText).join(', ')
    const sql = values.length === 1 ? `${name} ${isExcluded ? '<>' : '='} ${list}` : `${name} ${isExcluded ? 'NOT IN' : 'IN'} (${list})`
    if (reading.share && values.length > 0 && !isExcluded) reading.groups.push({ column })
    else reading.conditions.set(column.name, { sql, column, single: values.length === 1 && !isExcluded })
    if (values.length > 1 && !isExcluded && !words.includes('combined') && !words.includes('together')) reading.groups.push({ column })
  }
}

function readGrains(reading: Reading, words: readonly string[], dateColumn: Column | undefined): void {
  if (!dateColumn) return
  for (const [at, word] of words.entries()) {
    const grain = grainWords[word]
    if (!grain || (grain === 'day' && word === 'days')) continue
    const before = previousWord(words, at)
    const isOwn = /ly$|^annual$/.test(word)
    const isSecond = before === 'and' && reading.groups.length > 0
    const leads =
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

/** A column that only limits is no measure, unless the groups' figures are limited by it. */
function dropLimited(reading: Reading): void {
  const others = reading.measures.filter((column) => !reading.numbers.some((number) => number.column?.name === column.name))
  const isListed =
    reading.measures.every((column) => column.table === reading.table.name && !hasRevenue(reading.table)) && reading.aggregate === undefined
  if (others.length > 0 || (reading.groups.length === 0 && !isListed)) reading.measures = others
}

/** A value that the description does not list: `product "X"`, `city Leeds`. */
function readQuoted(reading: Reading, text: string): void {
  for (const column of reading.table.columns) {
    if (column.kind !== 'text' || reading.conditions.has(column.name)) continue
    const spoken = wordsOf(column.name).join('[ _]')
    const pattern = new RegExp(
      `\\b${spoken}s?\\s*(?:is|=|called|named|of)?\\s*(?:"([^"]+)"|“([^”]+)”|'([^']+)'|(\\p{Lu}[\\p{L}\\d&-]*(?: \\p{Lu}[\\p{L}\\d&-]*)*))`,
      'u',
    )
    const found = pattern.exec(text)
    const value = found?.[1] ?? found?.[2] ?? found?.[3] ?? found?.[4]
    if (!value || isStopWord(value.toLowerCase())) continue
    reading.conditions.set(column.name, {
      sql: `lower(${quoteName(column.name)}) = ${quoteText(value.toLowerCase())}`,
      column,
      single: true,
    })
    reading.groups = reading.groups.filter((group) => group.column !== column)
    reading.columns = reading.columns.filter((other) => other !== column)
  }
  if (reading.conditions.size === 0) readName(reading, text)
}

/** "Juniper Law" in quotes, or two capitalised words: a name, where the rows have names that are not listed. */
function readName(reading: Reading, text: string): void {
  const column =
    reading.table.columns.find((each) => each.kind === 'text' && each.name.toLowerCase() === 'name') ?? nameColumn(reading.table)
  if (!column || column.values.length > 0) return
  const quoted = /"([^"]+)"|“([^”]+)”/.exec(text)
  const value = quoted?.[1] ?? quoted?.[2] ?? /(?<=\S )(\p{Lu}[\p{L}\d]+(?: (?:&|and|of)? ?\p{Lu}[\p{L}\d]+)+)/u.exec(text)?.[1]
  if (!value) return
  reading.conditions.set(column.name, { sql: `lower(${quoteName(column.name)}) = ${quoteText(value.toLowerCase())}`, column, single: true })
}

function pushOnce(columns: Column[], column: Column): void {
  if (!columns.some((other) => other.name === column.name)) columns.push(column)
}
