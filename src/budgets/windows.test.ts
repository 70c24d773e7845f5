import assert from 'node:assert/strict'
import { test } from 'node:test'
import { windowAt } from './windows.ts'

const at = (text: string) => Date.parse(text)
const hoursOf = ({ start, end }: { start: number; end: number }) => (end - start) / 3_600_000

test('days begin at the midnight of the zone, and have 23 or 25 hours where its clocks change', () => {
  const winter = windowAt('day', 'Europe/Berlin', at('2026-11-28T12:00:00Z'))
  assert.deepEqual(winter, { start: at('2026-11-27T23:00:00Z'), end: at('2026-11-28T23:00:00Z') })
  assert.equal(hoursOf(windowAt('day', 'Europe/Berlin', at('2026-03-29T12:00:00Z'))), 23)
  assert.equal(hoursOf(windowAt('day', 'Europe/Berlin', at('2026-10-25T12:00:00Z'))), 25)
})

test('the first millisecond belongs to the new window, the one before to the old window', () => {
  const midnight = at('2026-11-30T18:15:00Z')
  assert.equal(windowAt('month', 'Asia/Kathmandu', midnight).start, midnight)
  assert.equal(windowAt('month', 'Asia/Kathmandu', midnight - 1).end, midnight)
})

test('weeks begin on Monday', () => {
  assert.deepEqual(windowAt('week', 'UTC', at('2026-11-29T23:59:59.999Z')), {
    start: at('2026-11-23T00:00:00Z'),
    end: at('2026-11-30T00:00:00Z'),
  })
})

test('the windows of a year follow each other without a gap, in zones whose clocks change at midnight too', () => {
  for (const zone of [
    'UTC',
    'Europe/Berlin',
    'America/Santiago',
    'America/Havana',
    'Africa/Cairo',
    'Australia/Lord_Howe',
    'Asia/Kolkata',
  ]) {
    for (const kind of ['day', 'week', 'month'] as const) {
      let window = windowAt(kind, zone, at('2026-01-15T10:30:00Z'))
      while (window.end < at('2027-02-01T00:00:00Z')) {
        const next = windowAt(kind, zone, window.end)
        assert.equal(next.start, window.end, `${kind} ${zone} ${new Date(window.end).toISOString()}`)
        assert.deepEqual(windowAt(kind, zone, window.end - 1), window, `${kind} ${zone} ${new Date(window.end - 1).toISOString()}`)
        window = next
      }
    }
  }
})

test('the hours of a night in which clocks go back are two windows', () => {
  const zone = 'Europe/Berlin'
  const first = windowAt('hour', zone, at('2026-10-25T00:30:00Z'))
  const second = windowAt('hour', zone, at('2026-10-25T01:30:00Z'))
  assert.deepEqual([first.start, second.start], [at('2026-10-25T00:00:00Z'), at('2026-10-25T01:00:00Z')])
})
