import { findPhrase, isNumber, phrases } from '../language/phrases.ts'
import type { Word } from '../language/words.ts'
import {
  describeSpan,
  inYear,
  readSpan,
  rollingSpan,
  textAt,
  toDay,
  unitOf,
  weekdayNames,
  weekdayOf,
  type Grain,
  type Span,
} from './calendar.ts'

/** Reads a time from words: relative to today, a range, or open at an end. */

export interface Today {
  /** Last date of the data. */
  latest?: string | undefined
  /** Date of the clock. */
  today?: string | undefined
}

export interface Term {
  sql: string
  text: string
}

/** The reading of a word: a span by itself, days of the week, or a finished term. */
export interface Time {
  length: number
  /** Grain of the ends of a range: "from January to March". */
  rangeGrain?: Grain | undefined
  /** Why a time does not exist, or how a relative time was understood. */
  fault?: string | undefined
  note?: string | undefined
  /** The date for the reading: the date of the clock, or the last date of the data. */
  needs?: keyof Today | undefined
  span?: Span
  weekdays?: readonly string[]
  term?: Term
}

/** Words before a number: the number is an amount and no year. */
const amounts = phrases('over|above|than|least|most|under|below|exceed|exceeds|exceeding|exactly|€|$|£|top|first|last')

/** A relative time, or a span without an open end. */
export function timeAt(words: readonly Word[], at: number, now: Today, isBound = false): Time | undefined {
  if (at >= words.length) return undefined
  const isAmount =
    at > 0 &&
    isNumber(words[at]!) &&
    findPhrase(words.slice(at - 1, at), amounts) &&
    !['last', 'first'].includes(words[at + 1]?.lower ?? '')
  const read = relativeAt(textAt(words, at), now, isBound) ?? (isAmount ? undefined : readSpan(words, at))
  return typeof read === 'string' ? { length: 0, fault: read } : read
}

const relative =
  /^(?:the )?(?:(next|coming|last|latest|this|current|most recent|previous|past) (?:(\d+) )?(day|week|month|quarter|year)s?(?! of)|(yesterday|today|now))(?= |$)/
const lastWeekday = new RegExp(`^(last |past |previous )?(${weekdayNames.join('|')})(?= |$)`, 'i')

/** "Last month" is the month before the clock's, "the latest month" the last with data. The answer says which dates it took. */
function relativeAt(text: string, now: Today, isBound: boolean): Time | undefined {
  const [phrase, word = '', count, unit = 'day', ofDay] =
    relative.exec(isBound ? text.replace(/^the (?=month|quarter|year)/, 'this ') : text) ?? []
  const [weekday, lead, name = ''] = lastWeekday.exec(text) ?? []
  if (phrase === undefined) return weekday && (lead || isBound) ? lastDay(weekday, name, now) : undefined
  const length = phrase.split(' ').length
  if (word === 'next' || word === 'coming')
    return { length, fault: 'I cannot look into the future: the data has only what has happened.', term: { sql: 'false', text: '' } }
  const ofData = word === 'latest' || word === 'most recent'
  const base = ofData ? now.latest : (now.today ?? now.latest)
  if (base === undefined) return { length, needs: ofData ? 'latest' : 'today' }
  const isBefore = ofDay === 'yesterday' || (['last', 'previous', 'past'].includes(word) && now.today !== undefined)
  const span = count ? rollingSpan(base, unit as Grain, Number(count)) : unitOf(base, unit as Grain, isBefore ? 1 : 0)
  const because = now.today === undefined || ofData ? `, because the data ends on ${base}` : ''
  return { length, span, note: `I took “${phrase.replace(/^the /, '')}” as ${describeSpan(span)}${because}.` }
}

/** The last Monday before today. */
function lastDay(phrase: string, name: string, { today, latest }: Today): Time {
  const length = phrase.split(' ').length
  const base = today ?? latest
  if (base === undefined) return { length, needs: 'today' }
  const days = [1, 2, 3, 4, 5, 6, 7].map((back) => unitOf(base, 'day', back))
  const span = days.find(({ start }) => weekdayOf(start).toLowerCase() === name.toLowerCase())!
  return { length, span, note: `I took “${phrase}” as ${span.start}.` }
}

const edges = phrases('the beginning of|beginning of|the start of|start of|the end of|end of')

interface EdgedTime extends Time {
  edge: 'start' | 'end' | undefined
}

/** A time as the end of a longer one: "May", "the 3rd of May", "the end of May", "March of last year". */
function edgeAt(words: readonly Word[], at: number, now: Today): EdgedTime | undefined {
  const phrase = findPhrase(words.slice(at, at + 3), edges)
  const skipped = phrase?.at === 0 ? phrase.words.length : 0
  const edge = skipped === 0 ? undefined : phrase!.phrase.includes('end') ? 'end' : 'start'
  const endTime = timeAt(words, at + skipped, now, true)
  const start = at + skipped + Number(!endTime && words[at + skipped]?.lower === 'the')
  const time = endTime ?? timeAt(words, start, now, true)
  if (!time?.span || 'start' in time.span) return time && { ...time, length: start + time.length - at, edge }
  const end = start + time.length
  const next = end + Number(words[end]?.lower === 'of')
  const year = timeAt(words, next, now)
  if (year?.needs) return { ...year, length: next + year.length - at, edge }
  if (year?.span?.grain !== 'year' || !('start' in year.span)) return { ...time, length: end - at, edge }
  return { ...year, span: ofYear(time.span, Number(year.span.start.slice(0, 4))), length: next + year.length - at, edge }
}

const joints = new Set(['and', 'to', 'until', 'till', 'through', '-'])

/** "From March to May", "between 1 and 7 November", "July through September". */
export function rangeAt(words: readonly Word[], at: number, name: string, now: Today): Time | undefined {
  const start = at + Number(['between', 'from'].includes(words[at]!.lower))
  // "Between 1 and 7 November": the month of the second day is the month of the first.
  const isDay = joints.has(words[start + 1]?.lower ?? '') && /^\d\d?$/.test(words[start + 2]?.lower ?? '')
  const day = isDay && start > at ? readSpan([words[start]!, ...words.slice(start + 3)], 0) : undefined
  const first = typeof day === 'object' ? { ...day, length: 1, edge: undefined } : edgeAt(words, start, now)
  const joint = start + (first?.length ?? 0)
  if (!first?.span || !joints.has(words[joint]?.lower ?? '') || (start === at && words[joint]!.lower === 'and')) return undefined
  const last = edgeAt(words, joint + 1, now)
  if (!last?.span) return undefined
  const ends = [...shareYear([first.span, last.span])] as [Span, Span]
  const length = joint + 1 + last.length - at
  const isOfMonths = ends.every((span) => 'first' in span && span.day === undefined) && !first.edge && !last.edge
  const [a, b] = ends
  if (isOfMonths && 'first' in a && 'first' in b && a.first <= b.last)
    return { length, rangeGrain: a.grain, term: within(name, { first: a.first, last: b.last, grain: 'month' }) }
  const range = toRange(ends, now.latest)
  if (!range) return { length, needs: 'latest' }
  const [from, to] = [first.edge === 'end' ? range[0].end : range[0].start, last.edge === 'start' ? range[1].start : range[1].end]
  return { length, rangeGrain: a.grain, term: within(name, { start: from, end: to, grain: 'month' }) }
}

type DatedSpan = Extract<Span, { start: string }>

/** Both ends with their years; undefined as long as the last date of the data is needed. */
function toRange([first, last]: readonly [Span, Span], latest: string | undefined): [DatedSpan, DatedSpan] | undefined {
  const to = inPast(last, latest)
  const from = to && ('start' in first ? first : inPast(first, to.end))
  return from && to && [from, to]
}

/** A span without a year in the last year in which the span has begun on a date; undefined without a date. */
function inPast(span: Span, date: string | undefined): DatedSpan | undefined {
  if ('start' in span || date === undefined) return 'start' in span ? span : undefined
  const year = Number(date.slice(0, 4))
  return [year, year - 1].map((candidate) => ofYear(span, candidate)).find((own) => 'start' in own && own.start <= date) as
    | DatedSpan
    | undefined
}

/** Beginnings of open periods, by meaning: from or up to the start or the end of the time behind them. */
const kinds: [kind: readonly ['>=' | '<', 'start' | 'end'], names: string][] = [
  [
    ['>=', 'start'],
    'since|from|starting|starting in|starting on|starting with|starting from|beginning|beginning in|beginning with|beginning from|as of|as from|not before|no earlier than|not earlier than',
  ],
  [['>=', 'end'], 'after|later than|past'],
  [['<', 'start'], 'before|earlier than|prior to|ahead of'],
  [['<', 'end'], 'until|till|up to|up to and including|up until|through|by|no later than|not later than|not after'],
]
const kindOf = new Map(kinds.flatMap(([kind, names]) => names.split('|').map((phrase) => [phrase, kind] as const)))
const bounds = phrases([...kindOf.keys()].join('|'))
const laterTails = 'on|onward|onwards|forward|forwards|and later|or later|and after|and onwards'
const earlierTails = 'and before|or before|and earlier|or earlier'
const tails = phrases(`${laterTails}|${earlierTails}`)

/** "Since March", "until the end of May", "June onwards". A time without a year is the last one that the data has reached. */
export function boundAt(words: readonly Word[], at: number, name: string, now: Today): Time | undefined {
  const phrase = findPhrase(words.slice(at, at + 4), bounds)
  const lead = phrase?.at === 0 ? phrase : undefined
  const time = edgeAt(words, at + (lead?.words.length ?? 0), now)
  const end = at + (lead?.words.length ?? 0) + (time?.length ?? 0)
  const ending = findPhrase(words.slice(end, end + 2), tails)
  const tail = ending?.at === 0 ? ending : undefined
  if (!time || (!lead && !tail) || (!lead && tail?.phrase === 'on')) return undefined
  if (time.fault !== undefined || time.needs !== undefined) return { ...time, length: end - at }
  const isEarlier = tail !== undefined && earlierTails.split('|').includes(tail.phrase)
  const [operator, edge] = lead ? kindOf.get(lead.phrase)! : isEarlier ? (['<', 'end'] as const) : (['>=', 'start'] as const)
  const length = end + (tail?.words.length ?? 0) - at
  const span = time.span && inPast(time.span, now.latest)
  if (!span) return { length, needs: 'latest' }
  const date = (time.edge ?? edge) === 'end' ? span.end : span.start
  const text = `${lead ? lead.phrase : isEarlier ? 'up to' : 'since'}${time.edge ? ` the ${time.edge} of` : ''} ${describeSpan(span)}`
  return { length, note: time.note, term: { sql: `${name} ${operator} DATE '${date}'`, text } }
}

/** The last year of the spans counts for spans without a year: "March and April 2025" has March 2025. */
export function shareYear(spans: readonly Span[]): Span[] {
  const year = spans.flatMap((span) => ('start' in span ? [Number(span.start.slice(0, 4))] : [])).at(-1)
  return spans
    .map((span) => ('first' in span && year ? ofYear(span, year) : span))
    .filter(({ grain }) => grain !== 'year' || spans.every((span) => span.grain === 'year'))
}

function ofYear(span: Extract<Span, { first: number }>, year: number): Span {
  const { first, last, grain, day } = span
  const dated = day === undefined ? inYear(first, last, grain, year) : toDay(String(year), first, String(day))
  return typeof dated === 'string' ? span : dated
}

export function within(name: string, span: Span): Term {
  const text = `in ${describeSpan(span)}`
  if ('first' in span && span.day !== undefined) return { sql: `(month(${name}) = ${span.first} AND day(${name}) = ${span.day})`, text }
  if ('first' in span) return { sql: `month(${name}) BETWEEN ${span.first} AND ${span.last}`, text }
  return { sql: `(${name} >= DATE '${span.start}' AND ${name} < DATE '${span.end}')`, text }
}
