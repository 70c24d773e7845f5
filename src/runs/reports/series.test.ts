import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type SeriesRun,
  type SeriesStore,
  type ToolUseRecord,
  maxRuns,
  readSeries,
  maxToolUses,
  readToolMetrics,
  mean,
  percentile,
  type SeriesQuery,
} from './series.ts'

const caller = { tenant: 't', owner: 'agent-core ann' }
const hourMs = 3_600_000
/** 09:30 on 22 November 2026. */
const now = Date.UTC(2026, 10, 22, 9, 30)

const runOf = (change: Partial<SeriesRun> = {}): SeriesRun => ({
  endedAt: now - 1,
  status: 'success',
  latencyMs: 1000,
  tokens: 10,
  cost: undefined,
  hasToolErrors: false,
  key: undefined,
  ...change,
})

function storeOf(runs: readonly SeriesRun[], uses: readonly ToolUseRecord[] = []): SeriesStore & { spans: object[] } {
  const spans: object[] = []
  async function* pages<T>(items: readonly T[]) {
    for (let start = 0; start < items.length; start += 2000) yield items.slice(start, start + 2000)
  }
  return {
    spans,
    runs: (_tenant, span) => (spans.push(span), pages(runs)),
    toolUses: (_tenant, span) => (spans.push(span), pages(uses)),
  }
}

const read = (store: SeriesStore, change: Partial<SeriesQuery> = {}) =>
  readSeries(store, caller, { bucket: 'hour', by: 'none', since: undefined, until: undefined, ...change }, now)

test('the default span is 24 hours or 30 days, from the start of the first', async () => {
  const store = storeOf([])
  const hours = await read(store)
  assert.deepEqual({ since: hours.since, until: hours.until }, { since: '2026-11-21T10:00:00.000Z', until: '2026-11-22T09:30:00.000Z' })
  const days = await read(store, { bucket: 'day' })
  assert.equal(days.since, '2026-10-24T00:00:00.000Z')
  assert.deepEqual(days.series, [])
  assert.deepEqual(store.spans[0], { since: now - 23.5 * hourMs, until: now })
})

test('runs are summed by hour, with exact percentiles', async () => {
  const early = now - hourMs
  const runs = [
    runOf({ latencyMs: 3000, cost: 0.5 }),
    runOf({ latencyMs: 1000, status: 'error', hasToolErrors: true }),
    runOf({ endedAt: early, tokens: 7 }),
  ]
  const { series } = await read(storeOf(runs))
  assert.deepEqual(series, [
    {
      key: null,
      is_other: false,
      runs: 3,
      points: [
        {
          start: '2026-11-22T08:00:00.000Z',
          runs: 1,
          errors: 0,
          tool_errors: 0,
          latency: { mean: 1, p50: 1, p95: 1 },
          tokens: 7,
          cost: null,
        },
        {
          start: '2026-11-22T09:00:00.000Z',
          runs: 2,
          errors: 1,
          tool_errors: 1,
          latency: { mean: 2, p50: 1, p95: 3 },
          tokens: 20,
          cost: 0.5,
        },
      ],
    },
  ])
})

test('the 20 groups with most runs have a series each, and the others one together', async () => {
  const runs = Array.from({ length: 25 }, (_, n) => Array.from({ length: 30 - n }, () => runOf({ key: `k${n}`, cost: 1 }))).flat()
  const { series } = await read(storeOf(runs), { by: 'sub' })
  assert.equal(series.length, 21)
  assert.deepEqual(
    series.slice(0, 20).map(({ key, runs: count }) => [key, count]),
    Array.from({ length: 20 }, (_, n) => [`k${n}`, 30 - n]),
  )
  const other = series[20]!
  assert.deepEqual({ key: other.key, is_other: other.is_other, runs: other.runs }, { key: null, is_other: true, runs: 40 })
  assert.deepEqual({ runs: other.points[0]!.runs, cost: other.points[0]!.cost }, { runs: 40, cost: 40 })
})

test('one answer reads a bounded number of runs and tools, and states from when it is complete', async () => {
  const runs = Array.from({ length: maxRuns + 5000 }, (_, n) => runOf({ endedAt: now - 1 - n }))
  const view = await read(storeOf(runs))
  assert.deepEqual(
    { runs: view.series[0]!.runs, since: view.complete_since },
    { runs: maxRuns, since: new Date(now - maxRuns).toISOString() },
  )
  assert.equal('complete_since' in (await read(storeOf(runs.slice(0, 10)))), false)
  const uses = Array.from({ length: maxToolUses + 1 }, (_, n) => ({
    endedAt: now - n,
    tool: 'a',
    calls: 2,
    errors: 1,
    durationsMs: [n % 100],
  }))
  const tools = await readToolMetrics(storeOf([], uses), caller, { since: undefined, until: undefined }, now)
  assert.deepEqual(tools.tools, [{ tool: 'a', calls: 2 * maxToolUses, errors: maxToolUses, p50: 0.049, p95: 0.094 }])
  assert.equal(tools.complete_since, new Date(now - maxToolUses + 1).toISOString())
})

test('a span that ends before its start, or has too many buckets, is refused', async () => {
  const refused = { code: 'validation' }
  await assert.rejects(read(storeOf([]), { since: now }), refused)
  await assert.rejects(read(storeOf([]), { since: now - 745 * hourMs }), refused)
  await assert.rejects(read(storeOf([]), { since: now - 367 * 24 * hourMs, bucket: 'day' }), refused)
  await assert.rejects(readToolMetrics(storeOf([]), caller, { since: now, until: now }, now), refused)
})

test('a percentile is one of the values', () => {
  const hundred = Array.from({ length: 100 }, (_, n) => n + 1)
  assert.deepEqual([percentile(hundred, 0.5), percentile(hundred, 0.95), percentile(hundred, 1)], [50, 95, 100])
  assert.deepEqual([percentile([7], 0.5), percentile([7], 0.95), percentile([1, 2], 0.5), percentile([1, 2], 0.95)], [7, 7, 1, 2])
})

test('without values, percentile and mean are 0', () => {
  assert.deepEqual([percentile([], 0.95), mean([]), mean([1, 2, 6])], [0, 0, 3])
})
