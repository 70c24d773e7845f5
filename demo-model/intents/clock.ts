import type { ToolMessage } from '../../src/agent/messages.ts'
import type { ToolOffer } from '../../src/agent/model.ts'
import { named } from '../../src/json/schema/schema-nodes.ts'
import { describeResult } from '../answers/answer.ts'
import { findPhrase, isNumber, phrases, withDigits } from '../language/phrases.ts'
import { readWords, setOf, unusedOf, wordsOf } from '../language/words.ts'
import { scores, sure, unsure, type Call, type Part, type Reading, type Work } from '../part.ts'
import { readSpan, toDay, weekdayOf } from '../sql/calendar.ts'
import { findTimeZones } from '../time-zones.ts'

const asksTime = phrases(
  'what time|which time|time is it|time now|current time|local time|the time|time in|how late is it|what day is|which day is|what date is|the date|' +
    'current date|todays date|date today|what weekday|which weekday|day is it|date is it|day today|weekday is it|what year is|what is today|day of the week',
)
/** A tool of the user for weekdays comes first. */
const otherDate = 3
const asksDay = phrases('what day|which day|what weekday|which weekday|day of the week|weekday')
const asksUntil = phrases(
  'days until|days till|days to|days before|days since|weeks until|days is it until|weeks is it until|days are left until|weeks are left until|days are there until|weeks are there until|long until|long till|left until',
)
const asksLater = phrases('in # days|in # weeks|in # week|# days from now|# days from today|# weeks from now|# weeks from today')

/** The time and date, here or elsewhere, the date in some days, and the days until a date. */
export function readClock(part: Part): Reading | undefined {
  const tool = part.tools.find(({ schema }) => zoneIn(schema) !== undefined)
  if (!tool) return undefined
  const words = readWords(withDigits(part.text))
  if (findPhrase(words, asksUntil)) return { score: scores.exact, work: () => countDays(tool, part.text) }
  const later = findPhrase(words, asksLater)
  const days = Number(later?.words.find(isNumber)?.lower) * (later?.phrase.includes('week') ? 7 : 1)
  const asksDate = findPhrase(words, phrases('date|day|weekday|day of the week')) !== undefined
  if (later && asksDate) return { score: scores.exact + 1, work: () => addDays(tool, days) }
  const zones = findTimeZones(part.text)
  if (findPhrase(words, asksDay) && dateIn(part.text, '2000-01-01') !== undefined)
    return { score: otherDate, work: () => tellDay(tool, part.text) }
  const before = part.isFollowUp && zones.length > 0 ? (part.earlier.at(-1) ?? '') : ''
  const zone = placeIn(part.text)
  const isExplained = unusedOf(words).every(({ lower, text }) => timeWords.has(lower) || zone.includes(text))
  // "On which weekday do we sell most?" does not ask for today.
  if (zones.length === 0 && !isExplained) return undefined
  const dayWord = words.find(({ lower }) => ['tomorrow', 'yesterday'].includes(lower))?.lower
  if (dayWord && asksDate) return { score: scores.exact, work: () => addDays(tool, dayWord === 'tomorrow' ? 1 : -1) }
  if (!findPhrase(words, asksTime) && !findPhrase(readWords(before), asksTime)) return undefined
  return { score: scores.exact, work: () => tellTime(tool, part.text, zones) }
}

/** The words of questions about the clock. */
const timeWords = setOf(
  'time date day days weekday week month today todays now current local clock year late hour moment tomorrow yesterday exactly hello hi hey',
)

function zoneIn(schema: ToolOffer['schema']): string | undefined {
  return Object.keys(named(schema, 'properties')).find((name) => wordsOf(name).join('') === 'timezone' || name === 'tz')
}

function placeIn(text: string): string {
  return /\b(?:in|at) (?:the )?(\p{Lu}[\p{L}-]+(?: \p{Lu}[\p{L}-]+)*)/u.exec(text)?.[1] ?? ''
}

function* tellTime(tool: ToolOffer, text: string, zones: readonly string[]): Work {
  const location = placeIn(text)
  if (zones.length === 0 && location !== '')
    return unsure(`I do not know the time zone of ${location}. Please name a larger city or a zone such as Europe/Zurich.`)
  const times: string[] = []
  for (const zone of zones.length > 0 ? zones : [undefined]) {
    const input = zone === undefined ? {} : { [zoneIn(tool.schema)!]: zone }
    times.push(describeResult(text, input, yield { tool, input, evidence: ['time'] }))
  }
  return sure(times.join('\n\n'))
}

/** The date of the clock. */
function* todayOf(tool: ToolOffer): Generator<Call, string | undefined, ToolMessage> {
  return /\d{4}-\d{2}-\d{2}/.exec((yield { tool, input: {}, evidence: ['date'] }).text)?.[0]
}

/** The weekday of another date. */
function* tellDay(tool: ToolOffer, text: string): Work {
  const today = yield* todayOf(tool)
  const date = today === undefined ? undefined : dateIn(text, today)
  return date === undefined ? undefined : sure(`${date} is a **${weekdayOf(date)}**.`)
}

function* addDays(tool: ToolOffer, days: number): Work {
  const today = yield* todayOf(tool)
  if (today === undefined) return undefined
  const date = new Date(Date.parse(today) + days * 86_400_000).toISOString().slice(0, 10)
  return sure(`It is **${date}**, a ${weekdayOf(date)}.`)
}

function* countDays(tool: ToolOffer, text: string): Work {
  const today = yield* todayOf(tool)
  const date = today === undefined ? undefined : dateIn(text, today)
  if (today === undefined || date === undefined) return unsure('Until which date shall I count? Please write it like 24 December 2026.')
  const days = Math.round((Date.parse(date) - Date.parse(today)) / 86_400_000)
  const [from, to] = days < 0 ? [date, today] : [today, date]
  const count = Math.abs(days)
  const weeks = text.includes('week') ? `, or **${Math.floor(count / 7)}** weeks${count % 7 > 0 ? ` and ${count % 7} days` : ''}` : ''
  return sure(`From ${from} to ${to} there are **${count}** days${weeks}.`, String(count))
}

/** The date in a text; without a year, the next such date. */
function dateIn(text: string, today: string): string | undefined {
  const words = readWords(text)
  const days = [...words.keys()].flatMap((at) => {
    const read = readSpan(words, at)
    return typeof read === 'object' && read.span.grain === 'day' ? [read.span] : []
  })
  const [day] = days
  if (!day || 'start' in day) return day?.start
  const year = Number(today.slice(0, 4))
  const dates = [year, year + 1].map((candidate) => toDay(String(candidate), day.first, String(day.day)))
  return dates.flatMap((date) => (typeof date === 'object' && 'start' in date && date.start >= today ? [date.start] : []))[0]
}
