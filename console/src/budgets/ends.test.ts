import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endsFor, untilOf } from './ends.ts'

const now = Date.parse('2026-11-28T12:00:00Z')
const midnight = '2026-11-29T00:00:00.000Z'

test('a changed limit may end with the window, or before, never behind it', () => {
  assert.deepEqual(
    endsFor(midnight, now).map(({ value }) => value),
    ['', '1h'],
  )
  assert.equal(untilOf('', midnight, now), midnight)
  assert.equal(untilOf('1h', midnight, now), '2026-11-28T13:00:00.000Z')
  assert.equal(untilOf('1h', midnight, Date.parse('2026-11-28T23:30:00Z')), midnight)
})

test('without a window, as for a run, a changed limit ends after a span', () => {
  assert.deepEqual(
    endsFor(null, now).map(({ value }) => value),
    ['1h', '24h', '7d'],
  )
  assert.equal(untilOf('7d', null, now), '2026-12-05T12:00:00.000Z')
})
