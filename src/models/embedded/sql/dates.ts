import { quoteName, type Column } from './tables.ts'

/** Finds times in a question: months, quarters, years, days, and ranges of times. */

export type Grain = 'day' | 'week' | 'month' | 'quarter' | 'year'

export interface DateReading {
  /** Boolean SQL expression, if the text has a time. */
  sql?: string
  /** Grain of the spans if there are several, because the answer then shows each span. */
  grain?: Grain
  /** The text without its times. */
  rest: string
  hits: string[]
}

/** From `start` (inclusive) to `end` (exclusive) as ISO dates, or a span of months in every year. */
type Span = { start: string; end: string; grain: Grain } | { months: [number, number]; grain: Grain }

const monthNames = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
]
const month =
  '(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)'
const year = '(?:19|20)\\d{2}'
const ordinal = '(?:first|second|third|fourth|last|1st|2nd|3rd|4th)'
const span = [
  '\\d{4}-\\d{2}-\\d{2}',
  '\\d{4}-\\d{2}(?!\\d)',
  `(?:the )?${ordinal} (?:quarter|half)(?: of)?(?: the year)?(?: ${year})?`,
  `(?:${year} )?[qh][1-4](?:(?: of|,)? ${year})?`,
  `\\d{1,2}(?:st|nd|rd|th)?(?: of)? ${month}(?:,? ${year})?`,
  `${month} \\d{1,2}(?:st|nd|rd|th)?(?!\\d)(?:,? ${year})?`,
  `${month}(?:,? (?:of )?${year})?`,
  year,
].join('|')

const spanPattern = `(?<![\\w-])(?:${span})(?![\\w-])`
const patterns = {
  range: new RegExp(`(?:between|from) (${spanPattern}) (?:and|to|until|till|through|-) (${spanPattern})`, 'gi'),
  bound: new RegExp(`(since|after|from|before|until|till|up to|starting|as of) (?:the )?(${spanPattern})(?: on(?:wards?)?)?`, 'gi'),
  alone: new RegExp(`(?:(?:in|during|on|for|of) )?(${spanPattern})`, 'gi'),
  latest: /\b(?:in |during |for )?(?:the )?(last|latest|this|current|most recent) (month|quarter|year|week|day)\b/gi,
}

export function readDates(text: string, column: Column): DateReading {
  const terms: string[] = []
  const spans: Span[] = []
  const hits: string[] = []
  const name = quoteName(column.name)
  const take = (matched: string, sql: string | undefined): string => {
    if (sql === undefined) return matched
    terms.push(sql)
    hits.push(matched.trim())
    return ' § '
  }
  let rest = text.replace(patterns.range, (matched, first: string, last: string) => take(matched, between(name, first, last)))
  rest = rest.replace(patterns.bound, (matched, word: string, at: string) => take(matched, bounded(name, word.toLowerCase(), at)))
  rest = rest.replace(patterns.latest, (matched, _, grain: string) => take(matched, latest(name, grain.toLowerCase(), column.table)))
  rest = rest.replace(patterns.alone, (matched, at: string) => {
    const parsed = isModalMay(matched) ? undefined : parseSpan(at)
    if (!parsed) return matched
    spans.push(parsed)
    hits.push(matched.trim())
    return ' § '
  })
  if (spans.length > 0) terms.push(oneOf(name, shareYear(spans)))
  return { ...(terms.length > 0 ? { sql: terms.join(' AND ') } : {}), ...(spans.length > 1 ? { grain: spans[0]!.grain } : {}), rest, hits }
}

/** True for "may" and "mar" in lower case, which are not months. */
function isModalMay(matched: string): boolean {
  return matched === 'may' || matched === 'mar'
}

function oneOf(name: string, spans: Span[]): string {
  const terms = [...new Set(spans.map((item) => within(name, item)))]
  return terms.length === 1 ? terms[0]! : `(${terms.join(' OR ')})`
}

/** Applies the last year to spans without a year: "March and April 2025" includes March 2025. */
function shareYear(spans: Span[]): Span[] {
  const years = spans.flatMap((item) => ('start' in item ? [Number(item.start.slice(0, 4))] : []))
  const year = years.at(-1)
  return spans
    .map((item) => ('months' in item && year ? inYear(item.months, item.grain, year) : item))
    .filter((item, _, all) => item.grain !== 'year' || all.every((sibling) => sibling.grain === 'year'))
}

function within(name: string, item: Span): string {
  if ('start' in item) {
    if (item.grain === 'day') return `CAST(${name} AS DATE) = DATE '${item.start}'`
    return `(${name} >= DATE '${item.start}' AND ${name} < DATE '${item.end}')`
  }
  const [first, last] = item.months
  if (first === last) return `month(${name}) = ${first}`
  return item.grain === 'quarter' ? `quarter(${name}) = ${last / 3}` : `month(${name}) BETWEEN ${first} AND ${last}`
}

function between(name: string, first: string, last: string): string | undefined {
  const [firstSpan, lastSpan] = [parseSpan(first), parseSpan(last)]
  if (!firstSpan || !lastSpan) return undefined
  const year =
    'start' in lastSpan ? Number(lastSpan.start.slice(0, 4)) : 'start' in firstSpan ? Number(firstSpan.start.slice(0, 4)) : undefined
  if (year === undefined) {
    return 'months' in firstSpan && 'months' in lastSpan
      ? `month(${name}) BETWEEN ${firstSpan.months[0]} AND ${lastSpan.months[1]}`
      : undefined
  }
  const [a, b] = [firstSpan, lastSpan].map((item) => ('months' in item ? inYear(item.months, item.grain, year) : item))
  return 'start' in a! && 'start' in b! ? `${name} >= DATE '${a.start}' AND ${name} < DATE '${b.end}'` : undefined
}

function bounded(name: string, word: string, at: string): string | undefined {
  const parsed = parseSpan(at)
  if (!parsed) return undefined
  const [start, end] = 'start' in parsed ? [`DATE '${parsed.start}'`, `DATE '${parsed.end}'`] : []
  if ('months' in parsed) {
    if (word === 'before') return `month(${name}) < ${parsed.months[0]}`
    if (/^(until|till|up)/.test(word)) return `month(${name}) <= ${parsed.months[1]}`
    return word === 'after' ? `month(${name}) > ${parsed.months[1]}` : `month(${name}) >= ${parsed.months[0]}`
  }
  if (word === 'before') return `${name} < ${start}`
  if (/^(until|till|up)/.test(word)) return `${name} < ${end}`
  return word === 'after' ? `${name} >= ${end}` : `${name} >= ${start}`
}

/** "Last month" is the last month with data, because data need not be up to date with the clock. */
function latest(name: string, grain: string, table: string): string {
  return `date_trunc('${grain}', ${name}) = (SELECT max(date_trunc('${grain}', ${name})) FROM ${quoteName(table)})`
}

function parseSpan(text: string): Span | undefined {
  const lower = text.toLowerCase().trim()
  const yearText = new RegExp(`(?<![\\d-])${year}(?![\\d-])`).exec(lower)?.[0]
  const iso = /^(\d{4})-(\d{2})(?:-(\d{2}))?$/.exec(lower)
  if (iso)
    return iso[3] ? day(Number(iso[1]), Number(iso[2]), Number(iso[3])) : inYear([Number(iso[2]), Number(iso[2])], 'month', Number(iso[1]))
  const months = partOfYear(lower)
  const monthWord = new RegExp(`\\b${month}\\b`).exec(lower)?.[0]
  if (monthWord) {
    const index = monthNames.findIndex((name) => name.startsWith(monthWord.slice(0, 3))) + 1
    const dayText = /(?<!\d)\d{1,2}(?!\d)/.exec(lower)?.[0]
    if (dayText && yearText) return day(Number(yearText), index, Number(dayText))
    return yearText ? inYear([index, index], 'month', Number(yearText)) : { months: [index, index], grain: 'month' }
  }
  if (months) return yearText ? inYear(months.months, months.grain, Number(yearText)) : months
  return yearText ? inYear([1, 12], 'year', Number(yearText)) : undefined
}

function partOfYear(lower: string): { months: [number, number]; grain: Grain } | undefined {
  const [, letter, digit] = /\b([qh])([1-4])\b/.exec(lower) ?? []
  const [, word, part] = new RegExp(`(${ordinal}) (quarter|half)`).exec(lower) ?? []
  if (!letter && !word) return undefined
  const length = letter === 'q' || part === 'quarter' ? 3 : 6
  const count = 12 / length
  const ordinalNumber = digit
    ? Number(digit)
    : word === 'last'
      ? count
      : /^(first|1)/.test(word!)
        ? 1
        : /^(second|2)/.test(word!)
          ? 2
          : /^(third|3)/.test(word!)
            ? 3
            : 4
  return ordinalNumber > count
    ? undefined
    : { months: [(ordinalNumber - 1) * length + 1, ordinalNumber * length], grain: length === 3 ? 'quarter' : 'month' }
}

function day(year: number, month: number, date: number): Span | undefined {
  const at = new Date(Date.UTC(year, month - 1, date))
  if (at.getUTCMonth() !== month - 1) return undefined
  return { start: toIso(at), end: toIso(new Date(Date.UTC(year, month - 1, date + 1))), grain: 'day' }
}

function inYear([first, last]: [number, number], grain: Grain, year: number): Span {
  return { start: toIso(new Date(Date.UTC(year, first - 1, 1))), end: toIso(new Date(Date.UTC(year, last, 1))), grain }
}

function toIso(date: Date): string {
  return date.toISOString().slice(0, 10)
}
