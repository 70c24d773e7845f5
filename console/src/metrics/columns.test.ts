import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatShare, startsOf, totalsOf, valuesOf, type Point } from './columns.ts'

const point = (hour: number, parts: Partial<Point> = {}): Point => ({
  start: `2026-11-22T${String(hour).padStart(2, '0')}:00:00.000Z`,
  runs: 1,
  errors: 0,
  tool_errors: 0,
  latency: { mean: 1, p50: 1, p95: 1 },
  tokens: 10,
  cost: null,
  ...parts,
})

test('every hour of the range has a value, also those without runs', () => {
  const starts = startsOf({ bucket: 'hour', since: '2026-11-22T08:00:00.000Z', until: '2026-11-22T11:20:00.000Z' })
  assert.deepEqual(
    starts.map((start) => new Date(start * 1000).toISOString().slice(11, 16)),
    ['08:00', '09:00', '10:00', '11:00'],
  )
  const points = [point(9, { runs: 4 }), point(11, { runs: 2 })]
  assert.deepEqual(
    valuesOf(starts, points, ({ runs }) => runs, 0),
    [0, 4, 0, 2],
  )
  assert.deepEqual(
    valuesOf(starts, points, ({ latency }) => latency.p95, null),
    [null, 1, null, 1],
  )
})

test('totals weigh the latency by runs, and have no cost without prices', () => {
  const slow = point(8, { runs: 1, latency: { mean: 9, p50: 9, p95: 9 }, errors: 1, tool_errors: 1 })
  const quick = point(9, { runs: 3 })
  assert.deepEqual(totalsOf([slow, quick]), { runs: 4, errors: 1, toolErrors: 1, latency: 3, tokens: 20, cost: null })
  assert.equal(totalsOf([slow, point(9, { cost: 0.5 })]).cost, 0.5)
  assert.equal(totalsOf([]).latency, null)
})

test('a share is rounded to what can be read', () => {
  assert.equal(formatShare(1, 250), '0.4 %')
  assert.equal(formatShare(1, 8), '13 %')
  assert.equal(formatShare(0, 8), '0 %')
  assert.equal(formatShare(0, 0), '–')
})
