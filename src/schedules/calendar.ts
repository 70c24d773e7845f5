import { Cron } from 'croner'
import { ServiceError, type Fault } from '../errors.ts'
import { canonicalZone, isTimeZone, parseTime, timeFault } from '../json/time.ts'
import type { Spec, SpecText } from './schedule.ts'

const maxCronLength = 200

const nicknames = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']

/** The start of the search for the first time of a pattern: the same pattern always has the same verdict. */
const referenceTime = Date.UTC(2026, 0, 1)

/** Throws a `validation` error with a fault for each wrong field, below `body`. */
export function parseSpec({ cron, at, timezone, starts_at, ends_at }: SpecText): Spec {
  const faults: Fault[] = []
  const refuse = (field: keyof SpecText, msg: string) => void faults.push({ loc: ['body', field], msg, type: 'value_error' })
  const timeOf = (field: 'at' | 'starts_at' | 'ends_at', text: string | null | undefined) => {
    const time = text == null ? undefined : parseTime(text)
    if (text != null && time === undefined) refuse(field, timeFault)
    if (text != null && field !== 'at' && at != null) refuse(field, 'must be left out beside `at`')
    return time
  }
  if (cron == null && at == null) refuse('cron', 'is required, or `at` for a schedule that has one time')
  if (cron != null && at != null) refuse('at', 'must be left out beside `cron`')
  if (cron != null && timezone == null) refuse('timezone', 'is required with `cron`: an IANA time zone, such as Europe/Berlin')
  if (timezone != null && !isTimeZone(timezone)) refuse('timezone', 'must be an IANA time zone, such as Europe/Berlin')
  const cronFault = cron == null ? undefined : faultOfCron(cron)
  if (cronFault !== undefined) refuse('cron', cronFault)
  const spec: Spec = {
    cron: cron?.trim() || undefined,
    timezone: timezone ?? undefined,
    at: timeOf('at', at),
    startsAt: timeOf('starts_at', starts_at),
    endsAt: timeOf('ends_at', ends_at),
  }
  if (spec.startsAt !== undefined && spec.endsAt !== undefined && spec.endsAt < spec.startsAt)
    refuse('ends_at', 'must not be before `starts_at`')
  throwFaults(faults)
  return spec
}

/** Throws a `validation` error where the schedule has no time after `now`. */
export function assertAhead(spec: Spec, now: number): void {
  if (occurrencesAfter(spec, now, 1).length > 0) return
  const [field, msg] =
    spec.at !== undefined
      ? ['at', 'must be in the future']
      : spec.endsAt !== undefined
        ? ['ends_at', 'must not be before the next time of `cron`']
        : ['starts_at', 'must be before the year 3000']
  throwFaults([{ loc: ['body', field], msg, type: 'value_error' }])
}

function throwFaults(faults: Fault[]): void {
  const [first] = faults
  if (first) throw new ServiceError('validation', `${first.loc.join('.')}: ${first.msg}`, { faults })
}

function faultOfCron(cron: string): string | undefined {
  const fields = 'must be 5 fields: minute, hour, day of month, month, day of week'
  if (cron.length > maxCronLength) return `must have at most ${maxCronLength} characters`
  const text = cron.trim()
  if (text.startsWith('@') && !nicknames.includes(text.toLowerCase())) return `must be 5 fields, or one of ${nicknames.join(', ')}`
  if (/[^A-Za-z0-9@*,/#\s-]/.test(text)) return `${fields}, of digits, names and the characters * , - / # alone`
  try {
    return createCron(text, 'UTC').nextRun(new Date(referenceTime)) ? undefined : 'never fires: no month has such a day'
  } catch (error) {
    return `${fields}. ${error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error)}`
  }
}

/**
 * Fixed times inside of a gap become the first instant after the gap; repeated fixed times count once, the first time. croner treats hours
 * as fixed only without a `*` or a step in the minutes, so such minutes are written out.
 */
function createCron(cron: string, zone: string): Cron {
  const [minutes = '', ...otherFields] = cron.split(/\s+/)
  const pattern = isFixed(cron) && otherFields.length === 4 ? [writeOut(minutes), ...otherFields].join(' ') : cron
  return new Cron(pattern, { timezone: zone, mode: '5-part', fixedTimeRule: 'no-wildcard', paused: true })
}

/** Hours with a `*` or a step follow real time; other hours are fixed, on the clocks of the zone. */
export function isFixed(cron: string): boolean {
  if (cron.startsWith('@')) return cron.toLowerCase() !== '@hourly'
  return !/[*/]/.test(cron.split(/\s+/)[1] ?? '')
}

/** `0,20,40` for a step of 20 minutes. Parts without a step and wrong parts stay. */
function writeOut(minutes: string): string {
  const parts = minutes.split(',').map((part) => {
    const match = /^(?:\*|(\d{1,2})-(\d{1,2}))(?:\/(\d{1,2}))?$/.exec(part)
    const [start, end, step] = [Number(match?.[1] ?? 0), Number(match?.[2] ?? 59), Number(match?.[3] ?? 1)]
    if (!match || step < 1 || start > end || end > 59) return part
    return Array.from({ length: Math.floor((end - start) / step) + 1 }, (_, index) => start + index * step).join(',')
  })
  return parts.join(',')
}

/** croner with the pattern and the zone of the spec. */
export function cronOf({ cron = '', timezone = 'UTC' }: Spec): Cron {
  return createCron(cron, canonicalZone(timezone))
}

/** The first times after `after`, in order. */
export function occurrencesAfter(spec: Spec, after: number, count: number): number[] {
  const { cron, at, startsAt = -Infinity, endsAt = Infinity } = spec
  if (cron === undefined) return at !== undefined && at > after && count > 0 ? [at] : []
  const times = cronOf(spec).nextRuns(count, new Date(Math.max(after, startsAt - 1)))
  return times.map((date) => date.getTime()).filter((time) => time <= endsAt)
}

/** The last times after `after`, up to and with `until`, in order. */
export function occurrencesUntil(spec: Spec, after: number, until: number, count: number): number[] {
  const { at, startsAt = -Infinity, endsAt = Infinity } = spec
  if (spec.cron === undefined) return at !== undefined && at > after && at <= until ? [at] : []
  const cron = cronOf(spec)
  const times: number[] = []
  // croner counts in whole seconds, and its search backwards leaves out the second in which the search begins.
  let cursor = Math.floor(Math.min(until, endsAt) / 1000) * 1000 + 1000
  while (times.length < count) {
    const time = cron.previousRuns(1, new Date(cursor))[0]?.getTime() ?? -Infinity
    if (time <= after || time < startsAt) break
    times.push(time)
    cursor = time
  }
  return times.toReversed()
}
