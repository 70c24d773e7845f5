import { setOf, type Word } from '../language/words.ts'

/** Reads a span of time from words: a day, month, quarter, half or year, with or without its year. */

export type Grain = 'day' | 'week' | 'month' | 'quarter' | 'year'

/** From `start` to before `end` as ISO dates, or the months `first` to `last` of every year, or a `day` of the month. */
export type Span = { grain: Grain } & ({ start: string; end: string } | { first: number; last: number; day?: number })

interface ReadSpan {
  span: Span
  /** Number of words. */
  length: number
}

const monthNames = 'january february march april may june july august september october november december'.split(' ')
export const weekdayNames = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday'.split(' ')
const month = `(${monthNames.map((name) => `${name}|${name.slice(0, 3)}`).join('|')}|sept)`
const day = '(\\d{1,2})(?:st|nd|rd|th)?'
const year = '((?:19|20)\\d{2})'
const ordinals = 'first 1st second 2nd third 3rd fourth 4th fifth 5th'.split(' ')

const holidays: Record<string, [month: number, day: string]> = {
  'christmas eve': [12, '24'],
  christmas: [12, '25'],
  'new year eve': [12, '31'],
  'new year': [1, '1'],
}

type Parts = (string | undefined)[]

/** The forms of a span. A text is the reason why there is no such time: "There is no Q5: a year has four quarters." */
const forms = (
  [
    [
      '(\\d{4})-(\\d{2})(?:-(\\d{2}))?',
      ([yearText, number, date]) => (date ? toDay(yearText, Number(number), date) : toMonth(Number(number), yearText)),
    ],
    [
      `(?:the )?(first|last) (\\d+) (month|quarter)s(?: (?:of|in) (?:the year )?${year})?`,
      ([edge, count, unit, yearText]) => toMonths(edge === 'first', Number(count) * (unit === 'quarter' ? 3 : 1), yearText),
    ],
    [
      `(?:the )?(?:${year} )?(?:([qh])([1-9])|(${ordinals.join('|')}) (quarter|half))(?: (?:of |in )?(?:the year )?${year})?`,
      ([before, letter, digit, ordinal = '', noun = letter, yearText]) =>
        toPart(noun?.[0] === 'q' ? 3 : 6, digit ? Number(digit) : Math.floor(ordinals.indexOf(ordinal) / 2) + 1, before ?? yearText),
    ],
    [`${day} (?:of )?${month}(?: ${year})?`, ([date, name, yearText]) => toDay(yearText, monthOf(name), date)],
    [`${month} ${day}(?: ${year})?`, ([name, date, yearText]) => toDay(yearText, monthOf(name), date)],
    [
      `(christmas eve|christmas|new year eve|new year)(?: day)?(?: ${year})?`,
      ([name = '', yearText]) => toDay(yearText, ...holidays[name]!),
    ],
    [`${month}(?: (?:of |in )?${year})?`, ([name, yearText]) => toMonth(monthOf(name), yearText)],
    [`(?:the year )?${year}`, ([yearText]) => inYear(1, 12, 'year', Number(yearText))],
  ] satisfies [string, (parts: Parts) => Span | string][]
).map(([form, read]): [RegExp, (parts: Parts) => Span | string] => [new RegExp(`^${form}(?= |$)`), read])

/** The unclaimed words from a position on, at most seven, as a text. */
export function textAt(words: readonly Word[], at: number): string {
  const next = words.slice(at, at + 7)
  const end = next.findIndex(({ use }) => use !== undefined)
  return next
    .slice(0, end < 0 ? undefined : end)
    .map(({ lower }) => lower)
    .join(' ')
}

const monthLeads = setOf(
  'in of since until till for and to from during between before after through by starting beginning with than including on except excluding without not',
)

/** The span that begins at a word, or why there is no such time. The words "may", "mar" and "sep" are months only behind a preposition. */
export function readSpan(words: readonly Word[], at: number): ReadSpan | string | undefined {
  const text = textAt(words, at)
  for (const [form, read] of forms) {
    const match = form.exec(text)
    if (!match) continue
    if (['may', 'mar', 'sep'].includes(match[0]) && words[at]!.text === match[0] && !monthLeads.has(words[at - 1]?.lower ?? ''))
      return undefined
    const span = read(match.slice(1))
    return typeof span === 'string' ? span : { span, length: match[0].split(' ').length }
  }
  return undefined
}

export function isMonth(word = ''): boolean {
  return word.length >= 3 && monthNames.some((name) => name === word || name.slice(0, 3) === word)
}

function monthOf(name = ''): number {
  return monthNames.findIndex((monthName) => monthName.startsWith(name.slice(0, 3))) + 1
}

function toMonth(number: number, yearText: string | undefined): Span | string {
  if (number < 1 || number > 12) return `There is no month ${number}.`
  return yearText ? inYear(number, number, 'month', Number(yearText)) : { first: number, last: number, grain: 'month' }
}

function toPart(months: number, number: number, yearText: string | undefined): Span | string {
  const [first, last, grain] = [(number - 1) * months + 1, number * months, months === 3 ? 'quarter' : 'month'] as const
  if (last > 12) return `There is no ${months === 3 ? 'Q' : 'H'}${number}: a year has ${months === 3 ? 'four quarters' : 'two halves'}.`
  return yearText ? inYear(first, last, grain, Number(yearText)) : { first, last, grain }
}

/** The first or the last months of a year, or of every year. */
function toMonths(isFirst: boolean, count: number, yearText: string | undefined): Span | string {
  if (count < 1 || count > 12) return 'A year has twelve months.'
  const [first, last] = isFirst ? [1, count] : [13 - count, 12]
  return yearText ? inYear(first, last, 'month', Number(yearText)) : { first, last, grain: 'month' }
}

/** A day of a year, or of every year. */
export function toDay(yearText: string | undefined, number: number, date: string | undefined): Span | string {
  if (yearText === undefined) return { first: number, last: number, day: Number(date), grain: 'day' }
  const start = new Date(Date.UTC(Number(yearText), number - 1, Number(date)))
  if (start.getUTCMonth() !== number - 1) return `There is no ${Number(date)} ${nameOf(number)} ${yearText}.`
  return { start: toIso(start), end: toIso(new Date(start.getTime() + dayMs)), grain: 'day' }
}

const dayMs = 86_400_000

export function inYear(first: number, last: number, grain: Grain, year: number): { start: string; end: string; grain: Grain } {
  return { start: toIso(new Date(Date.UTC(year, first - 1, 1))), end: toIso(new Date(Date.UTC(year, last, 1))), grain }
}

/** The day, week, month, quarter or year of a date, or the one `back` units before. */
export function unitOf(date: string, grain: Grain, back: number): { start: string; end: string; grain: Grain } {
  const parsed = new Date(`${date}T00:00:00Z`)
  const [number, weekday] = [parsed.getUTCMonth(), (parsed.getUTCDay() + 6) % 7]
  const size = { day: 0, week: 0, month: 1, quarter: 3, year: 12 }[grain]
  const edge = (units: number) => {
    if (size === 0) return new Date(parsed.getTime() - (grain === 'week' ? weekday + units * 7 : units) * dayMs)
    return new Date(Date.UTC(parsed.getUTCFullYear(), Math.floor(number / size) * size - units * size, 1))
  }
  return { start: toIso(edge(back)), end: toIso(edge(back - 1)), grain }
}

/** The `count` days, weeks, months or years up to a date, the date included. */
export function rollingSpan(date: string, grain: Grain, count: number): { start: string; end: string; grain: Grain } {
  const start = new Date(`${date}T00:00:00Z`)
  start.setUTCMonth(start.getUTCMonth() - { day: 0, week: 0, month: 1, quarter: 3, year: 12 }[grain] * count)
  start.setUTCDate(start.getUTCDate() - { day: 1, week: 7, month: 0, quarter: 0, year: 0 }[grain] * count + 1)
  return { start: toIso(start), end: toIso(new Date(Date.parse(date) + dayMs)), grain: 'day' }
}

/** The English name of a date's day of the week. */
export function weekdayOf(date: string): string {
  return weekdayNames[(new Date(date).getUTCDay() + 6) % 7]!
}

/** A span as people write it: "March 2025", "Q1 2025", "2025", "2025-03-01 to 2025-03-15". */
export function describeSpan(span: Span): string {
  if ('first' in span) {
    const { first, last } = span
    if (span.day !== undefined) return `${span.day} ${nameOf(first)}`
    if (first === last) return nameOf(first)
    return span.grain === 'quarter' ? `Q${last / 3}` : `${nameOf(first)} to ${nameOf(last)}`
  }
  const last = toIso(new Date(Date.parse(span.end) - dayMs))
  const [year, number] = [Number(span.start.slice(0, 4)), Number(span.start.slice(5, 7))]
  const isFrom = (months: number) => span.end === inYear(number, number + months - 1, 'month', year).end && span.start.endsWith('-01')
  if (isFrom(1)) return `${nameOf(number)} ${year}`
  if (isFrom(3) && number % 3 === 1) return `Q${(number + 2) / 3} ${year}`
  if (isFrom(12) && number === 1) return String(year)
  return span.start === last ? last : `${span.start} to ${last}`
}

function nameOf(number: number): string {
  const name = monthNames[number - 1]!
  return name.charAt(0).toUpperCase() + name.slice(1)
}

function toIso(date: Date): string {
  return date.toISOString().slice(0, 10)
}
