import { claim, exclusionOf, findPhrase, isNumber, phrases, takePhrase } from '../language/phrases.ts'
import { currencies, setOf, stem, wordsOf, type Word } from '../language/words.ts'
import { describeSpan, isMonth, weekdayNames, type Grain, type Span } from './calendar.ts'
import { boundAt, rangeAt, shareYear, timeAt, within, type Term, type Time, type Today } from './periods.ts'
import { quoteName, quoteText, type Column } from './tables.ts'

/** Reads the times of a question as a condition on a column of dates. */

/** A grain of groups: a unit of time, or the day of the week. */
export type GroupGrain = Grain | 'weekday'

export interface DateReading extends Omit<Time, 'length' | 'span' | 'weekdays' | 'term'> {
  /** Boolean SQL expression, if the question has a time. */
  sql?: string
  /** The times in words: "in March 2025". */
  text: string
  /** Grain of the spans if there are several, because the answer then shows each span. */
  grain?: GroupGrain | undefined
}

export function readDates(words: readonly Word[], column: Column, now: Today): DateReading {
  const times: Time[] = []
  const terms: Term[] = []
  const name = quoteName(column.name)
  for (let at = 0; at < words.length; at++) {
    const time = rangeAt(words, at, name, now) ?? boundAt(words, at, name, now) ?? weekdayAt(words, at) ?? timeAt(words, at, now)
    if (!time) continue
    const exclusion = exclusionOf(words, at, time.length)
    claim([...exclusion, ...words.slice(at, at + time.length)], 'date')
    at += Math.max(time.length - 1, 0)
    if (exclusion.length > 0 && time.span) terms.push(negated(within(name, time.span)))
    else if (exclusion.length > 0 && time.weekdays) terms.push(negated(onWeekdays(name, time.weekdays)))
    else times.push(time)
  }
  const spans = shareYear(times.flatMap(({ span }) => span ?? []))
  const weekdays = times.flatMap((time) => time.weekdays ?? [])
  terms.unshift(...times.flatMap(({ term }) => term ?? []))
  if (spans.length > 0) terms.push(oneOf(name, spans))
  if (weekdays.length > 0) terms.push(onWeekdays(name, weekdays))
  const isEach = times.filter((time) => time.weekdays).length > 1
  const isMixed = times.some(({ term }) => term) && spans.some(({ grain }) => grain !== 'year')
  const mixture = isMixed ? `Which of these times do you mean: ${terms.map(({ text }) => text).join(', or ')}?` : undefined
  return {
    ...(terms.length > 0 ? { sql: terms.map(({ sql }) => sql).join(' AND ') } : {}),
    text: terms.map(({ text }) => text).join(', '),
    grain: spans.length > 1 ? spans[0]!.grain : isEach ? 'weekday' : undefined,
    rangeGrain: times.find(({ rangeGrain }) => rangeGrain)?.rangeGrain,
    fault: times.find(({ fault }) => fault)?.fault ?? mixture,
    note: times.findLast(({ note }) => note)?.note,
    needs: times.find(({ needs }) => needs)?.needs,
  }
}

function negated({ sql, text }: Term): Term {
  return { sql: `NOT (${sql})`, text: `not ${text}` }
}

function onWeekdays(name: string, days: readonly string[]): Term {
  return { sql: `dayname(${name}) IN (${days.map(quoteText).join(', ')})`, text: `on ${days.map((day) => `${day}s`).join(' and ')}` }
}

/** "On Mondays", "at the weekend". */
function weekdayAt(words: readonly Word[], at: number): Time | undefined {
  const { lower, use } = words[at]!
  if (use !== undefined) return undefined
  if (/^weekends?$/.test(lower)) return { length: 1, weekdays: weekdayNames.slice(5) }
  const day = weekdayNames.find((weekday) => [weekday.toLowerCase(), `${weekday.toLowerCase()}s`].includes(lower))
  return day === undefined || ['last', 'past', 'previous'].includes(words[at - 1]?.lower ?? '') ? undefined : { length: 1, weekdays: [day] }
}

function oneOf(name: string, spans: readonly Span[]): Term {
  const terms = [...new Map(spans.map((span) => [describeSpan(span), within(name, span).sql]))]
  const sql = [...new Set(terms.map(([, term]) => term))]
  return { sql: sql.length === 1 ? sql[0]! : `(${sql.join(' OR ')})`, text: `in ${terms.map(([text]) => text).join(' and ')}` }
}

const units: [grain: GroupGrain, names: string, adverbs: string][] = [
  ['weekday', 'weekday|weekdays|day of the week|days of the week|day of week', 'by weekday'],
  ['day', 'day|days', 'daily'],
  ['week', 'week|weeks', 'weekly'],
  ['month', 'month|months', 'monthly'],
  ['quarter', 'quarter|quarters', 'quarterly'],
  ['year', 'year|years', 'yearly|annual|annually'],
]
const leads = 'by|per|each|every|which|what|for each|for every|compare'.split('|')
const rankings = 'over the|of the|and|the|best|worst|top|strongest|weakest|highest|lowest|busiest|slowest|three|#|'.split('|')

/** Claims words such as "monthly" and "per week", and returns the grain of the groups that they ask for. */
export function takeGrain(words: readonly Word[], isRanked: boolean, hasGroups = false): GroupGrain | undefined {
  const all = [...leads, ...(isRanked ? rankings : hasGroups ? ['and'] : [])]
  for (const [grain, names, adverbs] of units) {
    const led = all.flatMap((lead) => names.split('|').map((noun) => `${lead} ${noun}`.trim()))
    if (takePhrase(words, phrases([adverbs, ...led].join('|')), 'group')) return grain
  }
  return takePhrase(words, phrases('over time|trend|trends|development|evolve|evolved|develop|developed'), 'group') ? 'month' : undefined
}

/** Reads conditions on numbers: "over 500", "between 10 and 20 units", "rated 1 or 2". */

export interface NumberCondition {
  /** Undefined if the condition is on the measure of the question. */
  column?: Column | undefined
  /** SQL behind the column, such as `> 500`. */
  comparison: string
  text: string
}

const operators: [string, string][] = [
  ['>', 'over|above|more than|greater than|higher than|larger than|bigger than|exceed|exceeds|exceeding|exceeded|longer than|beyond'],
  ['>=', 'at least|no less than|not less than|minimum of|a minimum of'],
  ['<', 'under|below|less than|lower than|smaller than|fewer than|cheaper than'],
  ['<=', 'at most|up to|no more than|not more than|maximum of|a maximum of'],
  ['=', 'exactly|equal to|equals'],
]
const operatorOf = new Map(operators.flatMap(([sign, names]) => names.split('|').map((name): [string, string] => [name, sign])))
const comparisons = phrases([...operatorOf.keys()].join('|'))
const between = phrases('between # and #|from # to #')
const factors: Record<string, number> = { k: 1_000, m: 1_000_000, thousand: 1_000, million: 1_000_000 }
const articles = setOf('the its their of a')

interface Read extends NumberCondition {
  /** The position behind the condition. */
  end: number
}

export function readNumbers(words: readonly Word[], columns: readonly Column[]): NumberCondition[] {
  const numbers = columns.filter(({ kind }) => kind === 'number')
  const conditions: NumberCondition[] = []
  for (let at = 0; at < words.length; at++) {
    const read =
      words[at]!.use === undefined ? (readBetween(words, at) ?? readComparison(words, at) ?? readEqual(words, at, numbers)) : undefined
    if (!read) continue
    const column = read.column ?? columnNear(words, at, read.end, numbers)
    claim(words.slice(at, read.end), 'number')
    conditions.push({ column, comparison: read.comparison, text: read.text })
  }
  return conditions
}

function readBetween(words: readonly Word[], at: number): Read | undefined {
  const plain = words.slice(at).filter(({ lower }) => !currencies.has(lower))
  const phrase = findPhrase(plain.slice(0, 4), between)
  const ends = phrase?.at === 0 ? phrase.words.filter(isNumber) : []
  // "Between 1 and 7 November" is a time.
  if (ends.length < 2 || ends.every(isYear) || isMonth(words[words.indexOf(ends[1]!) + 1]?.lower)) return undefined
  const [low, high] = ends.map(({ lower }) => Number(lower))
  return { comparison: `BETWEEN ${low} AND ${high}`, text: `between ${low} and ${high}`, end: words.indexOf(ends[1]!) + 1 }
}

/** "Rated 1 or 2", "a rating of 5". */
function readEqual(words: readonly Word[], at: number, numbers: readonly Column[]): Read | undefined {
  const wordStem = words[at]!.stem
  const column = numbers.find(
    ({ name }) => wordStem.length >= 3 && stem(name).startsWith(wordStem) && stem(name).length - wordStem.length <= 3,
  )
  let end = at + 1
  while (end < words.length && (isNumber(words[end]!) || ['of', 'or', 'and', 'is', 'a', 'with'].includes(words[end]!.lower))) end++
  const values = words.slice(at + 1, end).filter((word) => isNumber(word) && word.use === undefined && !isYear(word))
  if (!column || values.length === 0) return undefined
  const list = values.map(({ lower }) => Number(lower))
  const exclusion = exclusionOf(words, at, 1)
  claim(exclusion, 'number')
  const not = exclusion.length > 0 ? 'NOT ' : ''
  return {
    column,
    comparison: `${not}IN (${list.join(', ')})`,
    text: not.toLowerCase() + list.join(' or '),
    end: words.indexOf(values.at(-1)!) + 1,
  }
}

function isYear({ lower }: Word): boolean {
  return /^(19|20)\d{2}$/.test(lower)
}

function readComparison(words: readonly Word[], at: number): Read | undefined {
  const phrase = findPhrase(words.slice(at, at + 3), comparisons)
  if (phrase?.at !== 0) return undefined
  let end = at + phrase.words.length
  while (articles.has(words[end]?.lower ?? '') || currencies.has(words[end]?.lower ?? '')) end++
  const [, digits, letter = words[end + 1]?.lower ?? ''] = /^(\d+(?:\.\d+)?)(k|m)?$/.exec(words[end]?.lower ?? '') ?? []
  // "Up to 15 April" is a time.
  if (digits === undefined || isMonth(words[end + 1]?.lower)) return undefined
  const value = Number(digits) * (factors[letter] ?? 1)
  end += letter.length > 1 && letter in factors ? 2 : 1
  if (currencies.has(words[end]?.lower ?? '')) end++
  return { comparison: `${operatorOf.get(phrase.phrase)!} ${value}`, text: `${phrase.phrase} ${value.toLocaleString('en-US')}`, end }
}

/** The column mentioned in the two words behind a condition, or the nearest in the four before. What something costs is its price. */
function columnNear(words: readonly Word[], at: number, end: number, columns: readonly Column[]): Column | undefined {
  const price = columns.find(({ name }) => /price/i.test(name))
  if (price && /^costs?$/.test(words[at - 1]?.lower ?? '')) return price
  const before = words.slice(Math.max(0, at - 4), at).toReversed()
  const near = [words.slice(end, end + 2), ...before.map((_, index) => before.slice(0, index + 1))]
  return near.flatMap((part) => columnIn(part, columns) ?? [])[0]
}

function columnIn(near: readonly Word[], columns: readonly Column[]): Column | undefined {
  const has = (word: string) => near.some((nearWord) => nearWord.stem === stem(word))
  return (
    columns.find(({ name }) => wordsOf(name).every(has)) ??
    columns.find(({ name }) => wordsOf(name).some((word) => word.length > 3 && has(word)))
  )
}
