import { exclusionOf } from '../language/exclusions.ts'
import { claim, phrases, takePhrase } from '../language/phrases.ts'
import type { Word } from '../language/words.ts'
import { describeSpan, weekdayNames, type Grain, type Span } from './calendar.ts'
import { boundAt, rangeAt, shareYear, timeAt, within, type Term, type Time, type Today } from './periods.ts'
import { quoteName, quoteText, type Column } from './tables.ts'

/** Reads the times of a question as a condition on a column of dates. */

/** What rows are grouped by: a unit of time, or the day of the week. */
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
  const day = weekdayNames.find((own) => [own.toLowerCase(), `${own.toLowerCase()}s`].includes(lower))
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
