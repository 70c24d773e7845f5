import { claim, findPhrase, isNumber, phrases, takePhrase } from '../language/phrases.ts'
import type { Word } from '../language/words.ts'
import { describeSpan, inYear, readSpan, rollingSpan, textAt, toDay, unitOf, type Grain, type Span } from './calendar.ts'
import { quoteName, type Column } from './tables.ts'

/** Reads the times of a question as a condition on a column of dates. */

export interface DateReading {
  /** Boolean SQL expression, if the question has a time. */
  sql?: string
  /** The times in words: "in March 2025". */
  text: string
  /** Grain of the spans if there are several, because the answer then shows each span. */
  grain?: Grain | undefined
  /** Grain of the ends of a range: "from January to March". */
  rangeGrain?: Grain | undefined
  /** Why a time does not exist, or how a relative time was understood. */
  fault?: string | undefined
  note?: string | undefined
  /** True if the reading needs the last date of the data. */
  needsLatest?: boolean | undefined
}

export interface Today {
  /** Last date of the data. */
  latest?: string | undefined
  /** Date of the clock. */
  today?: string | undefined
}

interface Term {
  sql: string
  text: string
}

/** What stands at a word: a span by itself, or a finished term. */
interface Time extends Omit<DateReading, 'sql' | 'text' | 'grain'> {
  length: number
  span?: Span
  term?: Term
}

/** Words before a number that is an amount and no year. */
const amounts = phrases('over|above|than|least|most|under|below|exceed|exceeds|exceeding|exactly|€|$|£|top|first|last')

export function readDates(words: readonly Word[], column: Column, now: Today): DateReading {
  const times: Time[] = []
  const name = quoteName(column.name)
  for (let at = 0; at < words.length; at++) {
    const time = relativeAt(words, at, now, name) ?? rangeAt(words, at, name) ?? boundAt(words, at, name) ?? spanAt(words, at)
    if (!time) continue
    times.push(time)
    claim(words.slice(at, at + time.length), 'date')
    at += Math.max(time.length - 1, 0)
  }
  const spans = shareYear(times.flatMap(({ span }) => span ?? []))
  const terms = [...times.flatMap(({ term }) => term ?? []), ...(spans.length > 0 ? [oneOf(name, spans)] : [])]
  return {
    ...(terms.length > 0 ? { sql: terms.map(({ sql }) => sql).join(' AND ') } : {}),
    text: terms.map(({ text }) => text).join(', '),
    grain: spans.length > 1 ? spans[0]!.grain : undefined,
    rangeGrain: times.find(({ rangeGrain }) => rangeGrain)?.rangeGrain,
    fault: times.find(({ fault }) => fault)?.fault,
    note: times.findLast(({ note }) => note)?.note,
    needsLatest: times.some(({ needsLatest }) => needsLatest),
  }
}

function spanAt(words: readonly Word[], at: number): Time | undefined {
  const isAmount =
    at > 0 &&
    isNumber(words[at]!) &&
    findPhrase(words.slice(at - 1, at), amounts) &&
    !['last', 'first'].includes(words[at + 1]?.lower ?? '')
  const read = isAmount ? undefined : readSpan(words, at)
  return typeof read === 'string' ? { length: 0, fault: read } : read
}

const relative =
  /^(?:the )?(?:(next|coming|last|latest|this|current|most recent|previous|past) (?:(\d+) )?(day|week|month|quarter|year)s?(?! of)|(yesterday|today))(?= |$)/

/** "Last month" is the month before the clock's, "the latest month" the last with data. The answer says which dates it took. */
function relativeAt(words: readonly Word[], at: number, { latest, today }: Today, name: string): Time | undefined {
  const [phrase, word = '', count, unit = 'day', ofDay] = relative.exec(textAt(words, at)) ?? []
  if (phrase === undefined) return undefined
  const length = phrase.split(' ').length
  if (word === 'next' || word === 'coming')
    return { length, fault: 'I cannot look into the future: the data has only what has happened.', term: { sql: 'false', text: '' } }
  const ofData = word === 'latest' || word === 'most recent'
  const base = ofData ? latest : (today ?? latest)
  if (base === undefined) return { length, needsLatest: true }
  const isBefore = ofDay === 'yesterday' || (['last', 'previous', 'past'].includes(word) && today !== undefined)
  const span = count ? rollingSpan(base, unit as Grain, Number(count)) : unitOf(base, unit as Grain, isBefore ? 1 : 0)
  const because = today === undefined || ofData ? `, because the data ends on ${base}` : ''
  return { length, term: within(name, span), note: `I took “${phrase.replace(/^the /, '')}” as ${describeSpan(span)}${because}.` }
}

const joints = new Set(['and', 'to', 'until', 'till', 'through', '-'])

function rangeAt(words: readonly Word[], at: number, name: string): Time | undefined {
  if (!['between', 'from'].includes(words[at]!.lower)) return undefined
  // "Between 1 and 7 November": the month of the second day is the month of the first.
  const isDay = joints.has(words[at + 2]?.lower ?? '') && /^\d\d?$/.test(words[at + 3]?.lower ?? '')
  const day = isDay ? readSpan([words[at + 1]!, ...words.slice(at + 4)], 0) : undefined
  const first = typeof day === 'object' ? { ...day, length: 1 } : readSpan(words, at + 1)
  if (typeof first !== 'object') return undefined
  const joint = at + 1 + first.length
  const last = joints.has(words[joint]?.lower ?? '') ? readSpan(words, joint + 1) : undefined
  const range = typeof last === 'object' ? toRange(first.span, last.span) : undefined
  if (!range || typeof last !== 'object') return undefined
  return { length: joint + 1 + last.length - at, rangeGrain: first.span.grain, term: within(name, range) }
}

/** From the begin of one span to the end of another. A year of the second counts for the first. */
function toRange(first: Span, last: Span): Span | undefined {
  const [a, b] = shareYear([first, last])
  if (!a || !b) return undefined
  if ('start' in a && 'start' in b) return { start: a.start, end: b.end, grain: 'month' }
  return 'first' in a && 'first' in b && a.first <= b.last ? { first: a.first, last: b.last, grain: 'month' } : undefined
}

const bounds = phrases(
  'since the beginning of|since the start of|since|after|from|before|until|till|up to|starting|as of|by the end of|later than|earlier than|prior to',
)

function boundAt(words: readonly Word[], at: number, name: string): Time | undefined {
  const found = findPhrase(words.slice(at, at + 4), bounds)
  const read = found?.at === 0 ? readSpan(words, at + found.words.length) : undefined
  if (!found || typeof read !== 'object' || ('first' in read.span && read.span.day !== undefined)) return undefined
  const end = at + found.words.length + read.length
  const length = end - at + (['on', 'onwards'].includes(words[end]?.lower ?? '') ? 1 : 0)
  return { length, term: bounded(name, found.phrase, read.span) }
}

function bounded(name: string, phrase: string, span: Span): Term {
  const text = `${phrase} ${describeSpan(span)}`
  const isBefore = ['before', 'earlier than', 'prior to'].includes(phrase)
  const isEnd = ['until', 'till', 'up to', 'by the end of'].includes(phrase)
  const isAfter = phrase === 'after' || phrase === 'later than'
  if ('first' in span) {
    const [operator, month] = isBefore ? ['<', span.first] : isEnd ? ['<=', span.last] : isAfter ? ['>', span.last] : ['>=', span.first]
    return { sql: `month(${name}) ${operator} ${month}`, text }
  }
  const date = isEnd || isAfter ? span.end : span.start
  return { sql: `${name} ${isBefore || isEnd ? '<' : '>='} DATE '${date}'`, text }
}

/** The last year of the spans counts for spans without a year: "March and April 2025" has March 2025. */
function shareYear(spans: readonly Span[]): Span[] {
  const year = spans.flatMap((span) => ('start' in span ? [Number(span.start.slice(0, 4))] : [])).at(-1)
  return spans
    .map((span) => ('first' in span && year ? ofYear(span, year) : span))
    .filter(({ grain }) => grain !== 'year' || spans.every((span) => span.grain === 'year'))
}

function ofYear(span: Extract<Span, { first: number }>, year: number): Span {
  const { first, last, grain, day } = span
  const own = day === undefined ? inYear(first, last, grain, year) : toDay(String(year), first, String(day))
  return typeof own === 'string' ? span : own
}

function oneOf(name: string, spans: readonly Span[]): Term {
  const terms = [...new Map(spans.map((span) => [describeSpan(span), within(name, span).sql]))]
  const sql = [...new Set(terms.map(([, term]) => term))]
  return { sql: sql.length === 1 ? sql[0]! : `(${sql.join(' OR ')})`, text: `in ${terms.map(([text]) => text).join(' and ')}` }
}

function within(name: string, span: Span): Term {
  const text = `in ${describeSpan(span)}`
  if ('first' in span && span.day !== undefined) return { sql: `(month(${name}) = ${span.first} AND day(${name}) = ${span.day})`, text }
  if ('first' in span) return { sql: `month(${name}) BETWEEN ${span.first} AND ${span.last}`, text }
  return { sql: `(${name} >= DATE '${span.start}' AND ${name} < DATE '${span.end}')`, text }
}

const adverbs = { day: 'daily', week: 'weekly', month: 'monthly', quarter: 'quarterly', year: 'yearly|annual|annually' }
const leads = 'by|per|each|every|which|what|for each|for every|compare'.split('|')
const rankings = 'over the|of the|and|the|best|worst|top|strongest|weakest|highest|lowest|busiest|slowest|three|#|'.split('|')

/** Claims words such as "monthly" and "per week", and returns the grain of the groups that they ask for. */
export function takeGrain(words: readonly Word[], isRanked: boolean, hasGroups = false): Grain | undefined {
  for (const [grain, adverb] of Object.entries(adverbs)) {
    const all = [...leads, ...(isRanked ? rankings : hasGroups ? ['and'] : [])]
    const names = all.flatMap((lead) => [`${lead} ${grain}`.trim(), `${lead} ${grain}s`.trim()])
    if (takePhrase(words, phrases([adverb, ...names].join('|')), 'group')) return grain as Grain
  }
  return takePhrase(words, phrases('over time|trend|trends|development|evolve|evolved|develop|developed'), 'group') ? 'month' : undefined
}
