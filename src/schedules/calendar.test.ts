import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ServiceError } from '../errors.ts'
import { assertAhead, occurrencesAfter, occurrencesUntil, parseSpec } from './calendar.ts'
import type { SpecText } from './schedule.ts'

const at = (text: string) => Date.parse(text)
const texts = (times: number[]) => times.map((time) => new Date(time).toISOString().slice(0, 16))
const next = (cron: string, timezone: string, after: string, count: number) =>
  texts(occurrencesAfter(parseSpec({ cron, timezone }), at(after), count))

function faultsOf(text: SpecText): string[] {
  try {
    parseSpec(text)
    return []
  } catch (error) {
    assert.ok(error instanceof ServiceError && error.code === 'validation')
    return error.faults.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`)
  }
}

test('a fixed time that does not exist is the first instant after the gap', () => {
  const spring = '2027-03-27T12:00:00Z'
  assert.deepEqual(next('30 2 * * *', 'Europe/Berlin', spring, 2), ['2027-03-28T01:00', '2027-03-29T00:30'])
  assert.deepEqual(next('*/20 2 * * *', 'Europe/Berlin', spring, 2), ['2027-03-28T01:00', '2027-03-29T00:00'])
  assert.deepEqual(next('0 2,3 * * *', 'Europe/Berlin', spring, 2), ['2027-03-28T01:00', '2027-03-29T00:00'])
  assert.deepEqual(next('@daily', 'America/Santiago', '2026-09-05T12:00:00Z', 2), ['2026-09-06T04:00', '2026-09-07T03:00'])
  assert.deepEqual(next('15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T12:00:00Z', 2), ['2026-10-03T15:30', '2026-10-04T15:15'])
})

test('a fixed time that exists twice is the first of both', () => {
  assert.deepEqual(next('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2), ['2026-10-25T00:30', '2026-10-26T01:30'])
  assert.deepEqual(next('*/30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 3), [
    '2026-10-25T00:00',
    '2026-10-25T00:30',
    '2026-10-26T01:00',
  ])
})

test('a star or a step in the hours follows real time', () => {
  const day = occurrencesAfter(
    parseSpec({ cron: '*/30 * * * *', timezone: 'Europe/Berlin', ends_at: '2026-10-25T22:59:59Z' }),
    at('2026-10-24T21:59:59Z'),
    100,
  )
  assert.equal(day.length, 50)
  assert.deepEqual(next('30 */2 * * *', 'Europe/Berlin', '2026-10-24T22:45:00Z', 2), ['2026-10-25T00:30', '2026-10-25T01:30'])
})

test('days are read as cron reads them: names, lists, L, and either field of both', () => {
  const autumn = '2026-10-02T20:00:00Z'
  assert.deepEqual(next('0 9 13 * 5', 'UTC', autumn, 3), ['2026-10-09T09:00', '2026-10-13T09:00', '2026-10-16T09:00'])
  assert.deepEqual(next('0 0 L * *', 'UTC', autumn, 2), ['2026-10-31T00:00', '2026-11-30T00:00'])
  assert.deepEqual(next('0 0 * JAN-MAR MON,fri', 'UTC', autumn, 2), ['2027-01-01T00:00', '2027-01-04T00:00'])
  assert.deepEqual(next('0 0 * * 7', 'UTC', autumn, 1), ['2026-10-04T00:00'])
  assert.deepEqual(next('@hourly', 'Asia/Kolkata', autumn, 2), ['2026-10-02T20:30', '2026-10-02T21:30'])
  assert.deepEqual(next('0 0 29 2 *', 'UTC', autumn, 2), ['2028-02-29T00:00', '2032-02-29T00:00'])
})

test('a fault names its field', () => {
  assert.match(faultsOf({ cron: '0 9 * * 1-5' })[0]!, /^body\.timezone: is required with `cron`/)
  assert.match(faultsOf({})[0]!, /^body\.cron: is required/)
  assert.match(faultsOf({ cron: '@daily', timezone: 'UTC', at: '2027-01-01T00:00:00Z' })[0]!, /^body\.at: must be left out/)
  for (const timezone of ['Mars/Base', '+02:00', '', 'x'.repeat(10_000)]) {
    assert.match(faultsOf({ cron: '@daily', timezone })[0]!, /^body\.timezone: must be an IANA time zone/, timezone)
  }
  for (const time of ['2027-01-01', '2027-01-01T00:00', 'tomorrow', '2027-13-01T00:00:00Z']) {
    assert.match(faultsOf({ at: time })[0]!, /^body\.at: must be an ISO 8601 time with its zone/, time)
  }
  const text = { cron: '@daily', timezone: 'UTC', starts_at: '2027-01-02T00:00:00Z' }
  assert.deepEqual(faultsOf({ ...text, ends_at: '2027-01-01T00:00:00Z' }), ['body.ends_at: must not be before `starts_at`'])
  assert.deepEqual(faultsOf({ at: '2027-01-01T00:00:00Z', ends_at: '2028-01-01T00:00:00Z' }), [
    'body.ends_at: must be left out beside `at`',
  ])
  assert.equal(faultsOf({ cron: '99 * * * *', timezone: 'Mars/Base', starts_at: 'x', ends_at: 'y' }).length, 4)
})

test('a pattern that is wrong, has seconds, or never fires is a fault of the pattern', () => {
  const wrong = [
    '',
    '* * * *',
    '* * * * * *',
    '60 * * * *',
    '0 24 * * *',
    '0 0 0 * *',
    '10-5 * * * *',
    '5/15 * * * *',
    '*5 0 * * *',
    'H * * * *',
  ]
  for (const cron of [...wrong, '@reboot', '@often', '? * * * *', '0 0 * * +5', '0 0 1 1 * 2027', '* '.repeat(5000), '\0 * * * *']) {
    assert.match(faultsOf({ cron, timezone: 'UTC' })[0]!, /^body\.cron: must (be 5 fields|have at most 200)/, cron)
  }
  for (const cron of ['0 0 30 2 *', '0 0 31 4,6,9,11 *', '* * 30,31 2 *']) {
    assert.match(faultsOf({ cron, timezone: 'UTC' })[0]!, /^body\.cron: never fires/, cron)
  }
})

test('times are within starts_at and ends_at, both included', () => {
  const spec = parseSpec({
    cron: '0 9 * * *',
    timezone: 'UTC',
    starts_at: '2027-01-01T09:00:00Z',
    ends_at: '2027-01-03T09:00:00Z',
  })
  const all = ['2027-01-01T09:00', '2027-01-02T09:00', '2027-01-03T09:00']
  assert.deepEqual(texts(occurrencesAfter(spec, 0, 10)), all)
  assert.deepEqual(texts(occurrencesUntil(spec, 0, at('2028-01-01T00:00:00Z'), 10)), all)
  assert.throws(() => assertAhead(spec, at('2027-01-03T09:00:00Z')), /body\.ends_at: must not be before/)
})

test('a single time is in the future when the schedule is made, and is no time twice', () => {
  const spec = parseSpec({ at: '2027-01-01T10:00:00+01:00' })
  const time = at('2027-01-01T09:00:00Z')
  assert.deepEqual(occurrencesAfter(spec, time - 1, 5), [time])
  assert.deepEqual(occurrencesAfter(spec, time, 5), [])
  assert.deepEqual(occurrencesUntil(spec, time - 1, time, 5), [time])
  assert.throws(() => assertAhead(spec, time), /body\.at: must be in the future/)
})

test('times of the year 1 and the year 9999 end the search', () => {
  const far = parseSpec({ cron: '0 9 * * *', timezone: 'Europe/Berlin', starts_at: '9999-01-01T00:00:00Z' })
  assert.throws(() => assertAhead(far, 0), /body\.starts_at: must be before the year 3000/)
  assert.equal(occurrencesAfter(parseSpec({ cron: '0 0 29 2 *', timezone: 'Europe/Berlin' }), at('0001-01-01T00:00:00Z'), 3).length, 3)
})

const minuteMs = 60_000

/** Fields with their values, so that the enumeration below reads no pattern. */
const range = (from: number, to: number, step = 1) =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step)
const minuteFields = [
  ['0', [0]],
  ['30', [30]],
  ['59', [59]],
  ['*/15', range(0, 59, 15)],
  ['5,35', [5, 35]],
  ['10-50/20', [10, 30, 50]],
  ['*/7', range(0, 59, 7)],
] as const
const hourFields = [
  ['0', [0]],
  ['1', [1]],
  ['2', [2]],
  ['23', [23]],
  ['1-3', [1, 2, 3]],
  ['0,2,23', [0, 2, 23]],
  ['0-23', range(0, 23)],
  ['*', range(0, 23)],
  ['*/2', range(0, 23, 2)],
  ['1-23/2', range(1, 23, 2)],
] as const
const dayFields = [
  ['* * *', () => true],
  ['* * 0', (day: Date) => day.getUTCDay() === 0],
  ['L * *', (day: Date) => new Date(day.getTime() + 86_400_000).getUTCDate() === 1],
  ['1-10 * 0', (day: Date) => day.getUTCDate() <= 10 || day.getUTCDay() === 0],
] as const

/** Clocks of a zone, without the code under test. */
function clockOf(timeZone: string): (time: number) => number {
  const numeric = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
  const format = new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', ...numeric })
  return (time) => {
    const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]))
    return Date.UTC(parts['year']!, parts['month']! - 1, parts['day'], parts['hour'], parts['minute'])
  }
}

function changesOf(clock: (time: number) => number): number[] {
  const step = 24 * 3_600_000
  const times = range(at('2026-01-01T00:00:00Z'), at('2029-01-01T00:00:00Z'), step)
  return times.filter((time) => clock(time) - time !== clock(time - step) - (time - step))
}

/** Every minute from `first` on: what the clocks show, and for each minute those that were skipped before. */
function enumerate(shown: number[], first: number, isFixed: boolean, matches: (shownTime: number) => boolean): number[] {
  const found: number[] = []
  let highest = shown[0]!
  for (let index = 1; index < shown.length; index++) {
    const time = shown[index]!
    const skipped = isFixed && time > highest ? range(highest + minuteMs, time, minuteMs) : []
    if (isFixed ? skipped.some(matches) : matches(time)) found.push(first + index * minuteMs)
    highest = Math.max(highest, time)
  }
  return found
}

const zones = [
  'Europe/Berlin',
  'America/Santiago',
  'America/Havana',
  'America/St_Johns',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Antarctica/Troll',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
]

for (const zone of zones) {
  test(`all times around the changes of 2026 to 2028 are those of a walk through each minute: ${zone}`, () => {
    const clock = clockOf(zone)
    const changes = changesOf(clock)
    const windows = [at('2027-06-05T00:00:00Z'), ...changes].map((time) => {
      const first = time - 26 * 3_600_000
      return { first, shown: range(first, time + 4 * 3_600_000, minuteMs).map(clock) }
    })
    const spec = fc.tuple(
      fc.constantFrom(...windows),
      fc.constantFrom(...minuteFields),
      fc.constantFrom(...hourFields),
      fc.constantFrom(...dayFields),
    )
    const check = fc.property(spec, ([{ first, shown }, [minute, minutes], [hour, hours], [days, isDay]]) => {
      const matches = (time: number) => {
        const date = new Date(time)
        return minutes.some((m) => m === date.getUTCMinutes()) && hours.some((h) => h === date.getUTCHours()) && isDay(date)
      }
      const cron = `${minute} ${hour} ${days}`
      const wanted = texts(enumerate(shown, first, !/[*/]/.test(hour), matches))
      const last = first + (shown.length - 1) * minuteMs
      const parsed = parseSpec({ cron, timezone: zone })
      const forwards = occurrencesAfter(parsed, first, wanted.length + 1).filter((time) => time <= last)
      assert.deepEqual(texts(forwards), wanted, cron)
      assert.deepEqual(texts(occurrencesUntil(parsed, first, last, 400)), wanted, `${cron}, backwards`)
    })
    fc.assert(check, { numRuns: 40 })
  })
}

test('two thousand next times take less than two seconds, and rare or impossible patterns do not loop', () => {
  const before = process.cpuUsage().user
  for (const cron of ['* * * * *', '*/5 9-17 * * 1-5', '0 0 29 2 *', '0 0 1 1 *']) {
    const spec = parseSpec({ cron, timezone: 'Europe/Berlin' })
    for (let index = 0; index < 500; index++) occurrencesAfter(spec, at('2026-06-01T00:00:00Z') + index * 37_000_000, 1)
  }
  const often = parseSpec({ cron: '* * * * *', timezone: 'Europe/Berlin' })
  const now = at('2026-06-01T00:00:00Z')
  for (let index = 0; index < 200; index++) occurrencesUntil(often, now - 60_000, now, 1000)
  for (let index = 0; index < 50; index++) faultsOf({ cron: '* * 30,31 2 *', timezone: 'Europe/Berlin' })
  const elapsedMs = (process.cpuUsage().user - before) / 1000
  assert.ok(elapsedMs < 2000, `2,000 next times and 50 impossible patterns took ${elapsedMs} ms`)
})
