import { claim, claimWhere, findPhrase, openExclusions, phrases, withDigits } from '../language/phrases.ts'
import { readWords, unusedOf, type Word } from '../language/words.ts'
import { readDates, readNumbers, takeGrain, type DateReading } from './conditions.ts'
import { chooseTable, findMentions, leftPhrases, persons, type Mention } from './mentions.ts'
import type { Today } from './periods.ts'
import { emptyQuery, type Query } from './query.ts'
import {
  dropImplied,
  groupByPerson,
  hasTimeNear,
  isExcluding,
  isFollowedByValue,
  isGrouping,
  nameGroups,
  previousWord,
  readPresence,
  readSubject,
  readValues,
  separators,
} from './roles.ts'
import { hasRevenue, isStock, joinColumn, nameColumn, priceMeasure, stemsOfName, type Column, type Table } from './tables.ts'
import { claimLightWords, pushOnce, readFigureWords, readImplied, readStock, readStockOfOne } from './vocabulary.ts'

/** Facts about the data besides the description of the tables. */
export interface DataFacts extends Today {
  tables: readonly Table[]
}

/** Queries by question, for the tables that they were read for: a turn reads the same question several times. */
const cache = new WeakMap<readonly Table[], Map<string, Query | undefined>>()
const maxCached = 100

/** Reads a question about tables; undefined if it mentions no part of them. `previous` is the table of the question before. */
export function readQuery(question: string, facts: DataFacts, previous?: Table): Query | undefined {
  const queries = cache.get(facts.tables) ?? new Map<string, Query | undefined>()
  if (queries.size > maxCached) queries.clear()
  cache.set(facts.tables, queries)
  const key = [question, facts.latest, facts.today, previous?.name].join('\n')
  if (!queries.has(key)) queries.set(key, read(question, facts, previous))
  return queries.get(key)
}

function read(question: string, facts: DataFacts, previous: Table | undefined): Query | undefined {
  const words = readWords(withDigits(question))
  const table = tableOf(words, facts.tables, previous)
  if (!table) return undefined
  const query = emptyQuery(table, facts.tables)
  const isAboutStock = asksStock(words)
  query.numbers = readNumbers(words, table.columns)
  // "Under 50 euros" is a price, where rows have no revenue.
  if (!hasRevenue(table)) for (const condition of query.numbers) condition.column ??= priceMeasure(table)
  const dates = readTimes(query, words, facts)
  readStock(query, words)
  const mentions = ownAndJoined(findMentions(words, facts.tables), table)
  for (const { at, length, kind } of mentions) claim(words.slice(at, at + length), kind)
  readFigureWords(query, words)
  const namesNumber = mentions.some(({ column }) => column?.kind === 'number')
  readImplied(query, words, namesNumber)
  for (const mention of mentions) readMention(query, words, mentions, mention)
  readValues(query, words, mentions)
  groupByPerson(query, words)
  nameGroups(query)
  groupByTime(query, words, dates)
  readSubject(query, words, mentions)
  readStockOfOne(query, words)
  query.isEach = findPhrase(words, phrases('each one|each of them|each')) !== undefined
  query.isListed = words.some(({ lower }) => lower === 'by')
  dropImplied(query)
  query.hits.push(...words.flatMap(({ lower, use = 'phrase' }) => (use === 'phrase' ? [] : [lower])))
  claimLightWords(words, query)
  // A time that does not exist is the answer, whatever else is not understood.
  query.unused = query.fault === undefined ? [...new Set([...unusedOf(words), ...openExclusions(words)])].map(({ text }) => text) : []
  // "Who sold the most?" is not answered by rows or amounts without persons.
  const hasPersons = query.groups.length > 0 || query.columns.length > 0 || nameColumn(table)?.name === 'name'
  if (words[0]?.lower === 'who' && !hasPersons) query.unused.push(words[0].text)
  const isAboutTables = mentions.length > 0 || words.some(({ lower }) => persons.has(lower)) || isAboutStock
  return isAboutTables || hasParts(query) || previous ? query : undefined
}

function hasParts({ conditions, groups, measures }: Query): boolean {
  return conditions.size > 0 || groups.length > 0 || measures.length > 0
}

/** "How many linen aprons are left?" is about the table with the stock, though nothing in it has been looked up yet. */
export function asksStock(words: readonly Word[]): boolean {
  return findPhrase(words, leftPhrases) !== undefined
}

function tableOf(words: readonly Word[], tables: readonly Table[], previous: Table | undefined): Table | undefined {
  const mentions = findMentions(words, tables)
  const anyDate = tables.flatMap(({ columns }) => columns).find(({ kind }) => kind === 'date')
  const copies = words.map((word) => ({ ...word }))
  const dates = anyDate && readDates(copies, anyDate, { today: '2000-01-01', latest: '2000-01-01' })
  const hasDate = dates !== undefined && (dates.text !== '' || dates.fault !== undefined)
  // "What day of the week is 24 December?" is about the calendar.
  const isDay = /^in (?:\d{4}-\d\d-\d\d|\d+ \w+)$/.test(dates?.text ?? '')
  const grain = takeGrain(copies, true)
  const hasGrain = grain !== undefined && !(isDay && ['day', 'weekday'].includes(grain))
  if (previous && (hasDate || hasGrain || mentions.some(({ table }) => table.name === previous.name))) return previous
  // "What was bought in order O-1001?" asks for the lines of the order.
  const isBought = words[0]?.lower === 'what' && findPhrase(words, phrases('bought|ordered|purchased|is in|was in|what in'))
  const lines = mentions.find(({ table, column, kind }) => {
    return (
      isBought &&
      kind === 'value' &&
      tables.some((joinedTable) => joinedTable !== table && joinColumn(table, joinedTable)?.name === column?.name)
    )
  })
  if (lines) return lines.table
  const chosen = chooseTable(tables, mentions, words, hasDate) ?? previous
  if (!chosen && asksStock(words)) return tables.find(({ columns }) => columns.some(isStock))
  // "Which month was the best?" mentions only time: the question is about the table with revenue.
  return chosen ?? (hasGrain ? tables.find((table) => hasRevenue(table) && table.columns.some(({ kind }) => kind === 'date')) : undefined)
}

/** Reads the times as a condition on the column of dates that is named, as in "shipped in May", else on the first. */
function readTimes(query: Query, words: readonly Word[], now: Today): (DateReading & { column: Column }) | undefined {
  const { table, tables } = query
  // "Shipping" is its own column, and no "shipped on".
  const columnNames = new Set(table.columns.flatMap(({ name, kind }) => (kind === 'date' ? [] : [name])))
  const stems = new Set(words.flatMap(({ lower, stem: wordStem }) => (columnNames.has(lower) ? [] : [wordStem])))
  for (const part of stemsOfName(table.name)) stems.delete(part)
  const joined = tables.filter((candidate) => candidate !== table && joinColumn(table, candidate))
  const dates =
    [table, ...joined].map(({ columns }) => columns.filter(({ kind }) => kind === 'date')).find(({ length }) => length > 0) ?? []
  const isNamed = (part: string) => part.length > 2 && part !== 'dat' && part !== 'date' && stems.has(part)
  const column = dates.find(({ name }) => stemsOfName(name).some(isNamed)) ?? dates[0]
  if (!column) return undefined
  // A value such as "March Blend" is no time.
  const values = findMentions(words, [table]).filter(({ kind, length }) => kind === 'value' && length > 1)
  for (const { at, length } of values) claim(words.slice(at, at + length), 'held')
  const reading = readDates(words, column, now)
  for (const word of words) if (word.use === 'held') delete word.use
  // "Shipped in March" names the column, not the status.
  const parts = stemsOfName(column.name)
  claimWhere(
    words,
    'date',
    (word) => word.use === undefined && parts.includes(word.stem) && isNamed(word.stem) && hasTimeNear(words, words.indexOf(word)),
  )
  if (reading.sql) query.conditions.set(column.name, { sql: reading.sql, column, isSingle: !reading.grain, text: reading.text })
  query.fault = reading.fault
  query.notes.push(...[reading.note ?? []].flat())
  query.needs = reading.needs
  return { ...reading, column }
}

/** Mentions of the table, and mentions of joinable tables at other words. */
function ownAndJoined(mentions: readonly Mention[], table: Table): Mention[] {
  const tableMentions = mentions.filter((mention) => mention.table === table)
  return mentions
    .filter((mention) => {
      const isFree = !tableMentions.some(({ at, length }) => at < mention.at + mention.length && mention.at < at + length)
      return (
        tableMentions.includes(mention) || (mention.kind !== 'table' && mention.weight > 1 && isFree && joinColumn(table, mention.table))
      )
    })
    .toSorted((a, b) => a.at - b.at)
}

function readMention(query: Query, words: readonly Word[], mentions: readonly Mention[], mention: Mention): void {
  const { column, kind, at, weight, length } = mention
  if (!column || kind === 'value') return
  // A column with the name of the table counts only if the words around it give the column a role.
  const isTable = mentions.some(
    (tableMention) => tableMention.kind === 'table' && tableMention.at === at && tableMention.table === query.table,
  )
  // In "product category" the first noun only describes the second.
  const isAttribute =
    column.kind === 'text' && mentions.some((next) => next.kind === 'column' && next.column !== column && next.at === at + length)
  if ((isTable && weight <= 1) || isAttribute || readPresence(query, words, mentions, mention)) return
  const isCounted = query.aggregate === 'count' && query.measures.length === 0
  if (column.kind === 'number') pushOnce(query.measures, column)
  else if (isGrouping(query, words, mentions, mention)) query.groups.push({ column, isEach: separators.has(previousWord(words, at)) })
  // "The revenue of all regions but North" names the regions only to exclude one.
  else if (isTable || (query.measures.length > 0 && isExcluding(words, mentions, mention))) return
  else if (isCounted && ['many', 'of', 'count'].includes(previousWord(words, at, false))) query.counted = column
  else if (column.kind === 'date' ? !hasTimeNear(words, at) : !isFollowedByValue(mentions, mention)) query.columns.push(column)
}

function groupByTime(query: Query, words: readonly Word[], dates: ReturnType<typeof readTimes>): void {
  if (!dates) return
  const { compares, groups, order } = query
  if (compares === 'growth' && order && groups.length > 0)
    query.fault = 'I cannot rank by growth. I can tell the growth of one of them: please name it.'
  const { column, sql, grain: spans, rangeGrain } = dates
  const grain = takeGrain(words, order !== undefined || compares !== undefined, groups.length > 0)
  const shownSpans = spans ?? (compares === 'growth' ? (rangeGrain ?? (sql ? undefined : 'month')) : undefined)
  if (grain) groups.push({ column, grain, isEach: groups.length > 0 })
  else if (shownSpans && (groups.length === 0 || compares)) groups.push({ column, grain: shownSpans })
}
