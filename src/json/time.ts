/** Epoch milliseconds of an ISO 8601 time, or undefined. A time without a zone would be one of the host, so none is accepted. */
export function parseTime(text: string): number | undefined {
  const [, date] = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/.exec(text) ?? []
  const time = date !== undefined && isDate(date) ? Date.parse(text) : NaN
  return Number.isNaN(time) ? undefined : time
}

/** False for a day that its month does not have: `Date.parse` takes `2027-02-30` for a day of March. */
function isDate(date: string): boolean {
  const time = Date.parse(date)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(date)
}

/** The message for a text without a time. */
export const timeFault = 'must be an ISO 8601 time with its zone, such as 2026-12-31T23:59:59Z'

/** True for the name of an IANA time zone. Fixed offsets, such as `+02:00`, do not follow the clocks of any place. */
export function isTimeZone(name: string): boolean {
  return !/^[+-]/.test(name) && formatOf(name) !== undefined
}

/** The name that all spellings and aliases of a zone share: caches by zone are as large as the list of zones. */
export function canonicalZone(name: string): string {
  return formatOf(name)?.resolvedOptions().timeZone ?? name
}

/** A time on the clocks of a zone. */
export interface LocalTime {
  /** ISO 8601 with the distance from UTC. */
  time: string
  date: string
  weekday: string
}

/** Undefined where there is no such zone. An offset such as `+02:00` is taken too. */
export function toLocalTime(at: number, zone: string): LocalTime | undefined {
  const format = formatOf(zone)
  if (!format) return undefined
  const { offset, ms } = offsetAt(at, format)
  const local = new Date(at + ms)
  const text = local.toISOString()
  return { time: `${text.slice(0, -5)}${offset}`, date: text.slice(0, -14), weekday: weekdays[local.getUTCDay()]! }
}

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

/** The distance from UTC, as a text and in milliseconds, and the quarter of an hour for which the distance holds. */
interface Offset {
  quarter: number
  offset: string
  ms: number
}

const quarterMs = 900_000
/** The last offset by zone. `formatToParts` takes ten times as long as the rest, and zones change their clocks at full quarters of an hour. */
const offsets = new WeakMap<Intl.DateTimeFormat, Offset>()

function offsetAt(at: number, format: Intl.DateTimeFormat): Offset {
  const quarter = Math.floor(at / quarterMs)
  const last = offsets.get(format)
  if (last?.quarter === quarter) return last
  const name = format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value
  // `longOffset` is `GMT` for UTC itself, else `GMT+05:30`.
  const offset = name?.replace(/^(GMT|UTC)/, '') || '+00:00'
  const [hours = 0, minutes = 0, seconds = 0] = offset.slice(1).split(':').map(Number)
  const ms = ((hours * 60 + minutes) * 60 + seconds) * 1000 * (offset.startsWith('-') ? -1 : 1)
  const next = { quarter, offset, ms }
  offsets.set(format, next)
  return next
}

/**
 * Creating an `Intl.DateTimeFormat` costs a hundred times as much as a call of `formatToParts`. There are about 600 names of zones, in
 * any case of letters; offsets have too many spellings for a cache.
 */
const formats = new Map<string, Intl.DateTimeFormat>()

const maxZoneLength = 100

function formatOf(zone: string): Intl.DateTimeFormat | undefined {
  if (zone.length > maxZoneLength) return undefined
  const name = zone.toLowerCase()
  const format = formats.get(name) ?? createFormat(name)
  if (format && !/^[+-]/.test(name)) formats.set(name, format)
  return format
}

function createFormat(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      timeZoneName: 'longOffset',
    })
  } catch {
    return undefined
  }
}
