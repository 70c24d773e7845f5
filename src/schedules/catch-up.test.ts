import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { occurrencesAfter, parseSpec } from './calendar.ts'
import { judge, nextAfter } from './catch-up.ts'
import { catchUpPolicies, type CatchUpPolicy } from './schedule.ts'

const at = (text: string) => Date.parse(text)
const text = (time: number) => new Date(time).toISOString().slice(0, 16)
const hourMs = 3_600_000
const none = { id: 's1', ms: 0 }
const hourly = parseSpec({ cron: '0 * * * *', timezone: 'UTC' })

function outcome(policy: CatchUpPolicy, windowMs: number, now: string) {
  const { fires, missed, next } = judge(hourly, at('2027-01-01T00:00:00Z'), at(now), { policy, windowMs }, none)
  return { fires: fires.map(text), missed: missed.map(({ scheduledFor }) => text(scheduledFor)), next: next && text(next.at) }
}

test('an occurrence on time fires by each policy, and up to a minute late', () => {
  for (const policy of catchUpPolicies) {
    for (const now of ['2027-01-01T01:00:00Z', '2027-01-01T01:00:59Z']) {
      assert.deepEqual(outcome(policy, 0, now), { fires: ['2027-01-01T01:00'], missed: [], next: '2027-01-01T02:00' })
    }
  }
  assert.deepEqual(outcome('latest', hourMs, '2027-01-01T00:59:59Z'), { fires: [], missed: [], next: '2027-01-01T01:00' })
})

test('after an outage latest fires the last occurrence, all the last ones within the window, skip none', () => {
  const now = '2027-01-01T04:30:00Z'
  const next = '2027-01-01T05:00'
  const [one, two, three, four] = ['2027-01-01T01:00', '2027-01-01T02:00', '2027-01-01T03:00', '2027-01-01T04:00']
  assert.deepEqual(outcome('latest', hourMs, now), { fires: [four], missed: [one, two, three], next })
  assert.deepEqual(outcome('latest', hourMs / 4, now), { fires: [], missed: [one, two, three, four], next })
  assert.deepEqual(outcome('all', 2 * hourMs, now), { fires: [three, four], missed: [one, two], next })
  assert.deepEqual(outcome('skip', 9 * hourMs, now), { fires: [], missed: [one, two, three, four], next })
  assert.equal(outcome('all', 99 * hourMs, '2027-01-02T00:30:00Z').fires.length, 10)
})

test('years without a process cost as much as a thousand occurrences, and nothing at or below the watermark fires', () => {
  const spec = parseSpec({ cron: '* * * * *', timezone: 'Europe/Berlin' })
  const before = process.cpuUsage().user
  const { fires, missed } = judge(
    spec,
    at('2016-01-01T00:00:00Z'),
    at('2027-01-01T00:00:30Z'),
    { policy: 'latest', windowMs: hourMs },
    none,
  )
  assert.ok((process.cpuUsage().user - before) / 1000 < 1000)
  assert.deepEqual(fires.map(text), ['2027-01-01T00:00'])
  assert.equal(missed.length, 51)
  assert.deepEqual(missed[0], { scheduledFor: at('2026-12-31T23:09:00Z'), count: 949 })
  assert.deepEqual(missed.at(-1), { scheduledFor: at('2026-12-31T23:59:00Z') })
  const behind = judge(spec, at('2027-01-01T00:05:00Z'), at('2027-01-01T00:03:00Z'), { policy: 'all', windowMs: hourMs }, none)
  assert.deepEqual([behind.fires, behind.missed], [[], []])
})

test('a single time fires late within the window, then no time follows', () => {
  const spec = parseSpec({ at: '2027-01-01T09:00:00Z' })
  const judged = (now: string) => judge(spec, 0, at(now), { policy: 'latest', windowMs: hourMs }, none)
  assert.deepEqual(judged('2027-01-01T08:00:00Z').next, { at: at('2027-01-01T09:00:00Z'), dueAt: at('2027-01-01T09:00:00Z') })
  assert.deepEqual(judged('2027-01-01T09:30:00Z'), { fires: [at('2027-01-01T09:00:00Z')], missed: [], next: undefined })
  assert.deepEqual(judged('2027-01-01T11:00:00Z').missed, [{ scheduledFor: at('2027-01-01T09:00:00Z') }])
})

test('jitter is the same each time, differs between schedules, and never reaches the following occurrence', () => {
  const dueAt = (id: string, after: number, ms: number) => nextAfter(hourly, after, { id, ms })!.dueAt
  const delays = Array.from({ length: 200 }, (_, index) => dueAt(`s${index}`, 0, hourMs) - hourMs)
  assert.deepEqual(
    delays,
    delays.map((_, index) => dueAt(`s${index}`, 0, hourMs) - hourMs),
  )
  assert.ok(new Set(delays).size > 190 && Math.min(...delays) < hourMs / 10 && Math.max(...delays) > (hourMs * 9) / 10)
  const minutely = parseSpec({ cron: '* * * * *', timezone: 'UTC' })
  for (let index = 0; index < 100; index++) {
    const { at: time, dueAt: due } = nextAfter(minutely, 0, { id: `s${index}`, ms: hourMs })!
    assert.ok(due >= time && due < time + 60_000)
  }
})

test('looks at any times fire or miss each occurrence exactly once, in order, with and without jitter', () => {
  const spec = parseSpec({ cron: '*/5 * * * *', timezone: 'UTC' })
  const start = at('2027-01-01T00:00:00Z')
  const looks = fc.array(fc.integer({ min: 1, max: 3_000_000 }), { minLength: 1, maxLength: 12 })
  const check = fc.property(looks, fc.constantFrom(...catchUpPolicies), fc.constantFrom(0, 120_000, hourMs), (steps, policy, ms) => {
    let [watermark, now] = [start, start]
    const seen: number[] = []
    for (const step of steps) {
      now += step
      const { fires, missed, next } = judge(spec, watermark, now, { policy, windowMs: hourMs }, { id: 's1', ms })
      const evaluated = [...fires, ...missed.map(({ scheduledFor }) => scheduledFor)].toSorted((a, b) => a - b)
      seen.push(...evaluated)
      watermark = evaluated.at(-1) ?? watermark
      assert.deepEqual(next, nextAfter(spec, watermark, { id: 's1', ms }))
      assert.ok(next!.dueAt > now)
    }
    assert.deepEqual(seen, occurrencesAfter(spec, start, seen.length))
  })
  fc.assert(check, { numRuns: 60 })
})
