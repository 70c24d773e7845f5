import type { Owner } from '../../access/owner.ts'
import { invalid } from '../../errors.ts'

/** Port: the ended runs of one tenant, as series need them. Direct tool executions are not counted as runs. */
export interface SeriesStore {
  /**
   * Pages of ended runs, newest end first. With `key` as `tool`, a run appears once for each of its tools. A reader may stop at any page.
   */
  runs(tenant: string, span: SeriesSpan, key: SeriesKey): AsyncIterable<readonly SeriesRun[]>
  /** Pages of the tools of ended runs, newest end first. */
  toolUses(tenant: string, span: SeriesSpan): AsyncIterable<readonly ToolUseRecord[]>
}

/** Epoch milliseconds, `until` exclusive. */
export interface SeriesSpan {
  since: number
  until: number
}

/** The group of a run: none, a tool, the version of the configuration, or the `sub` of the caller. */
export type SeriesKey = 'none' | 'tool' | 'version' | 'sub'

export interface SeriesRun {
  endedAt: number
  status: string
  latencyMs: number
  tokens: number
  /** USD; undefined where no model of the run has a price. */
  cost: number | undefined
  /** Whether a tool call of the run has failed. */
  hasToolErrors: boolean
  /** Undefined without a group, and for runs of earlier versions of the service. */
  key: string | undefined
}

/** The calls of one tool in one run. */
export interface ToolUse {
  tool: string
  calls: number
  errors: number
  /** Of the first calls, at most `maxDurations`. */
  durationsMs: number[]
}

export interface ToolUseRecord extends ToolUse {
  endedAt: number
}

/** Stored durations of a tool per run. */
export const maxDurations = 100

/** Runs of a bucket. Latencies in seconds; cost in USD, null if no run of the bucket has a cost. */
interface SeriesPoint {
  start: string
  runs: number
  errors: number
  /** Runs in which a tool call has failed. */
  tool_errors: number
  latency: { mean: number; p50: number; p95: number }
  tokens: number
  cost: number | null
}

export interface SeriesView {
  bucket: Bucket
  by: SeriesKey
  since: string
  until: string
  /** Present when there are more runs than one answer reads: only runs that ended from this time on are counted. */
  complete_since?: string
  series: { key: string | null; is_other: boolean; runs: number; points: SeriesPoint[] }[]
}

type Bucket = 'hour' | 'day'

export interface SeriesQuery {
  bucket: Bucket
  by: SeriesKey
  since: number | undefined
  until: number | undefined
}

const bucketMs: Record<Bucket, number> = { hour: 3_600_000, day: 86_400_000 }

const defaultBuckets: Record<Bucket, number> = { hour: 24, day: 30 }

const maxBuckets: Record<Bucket, number> = { hour: 744, day: 366 }

/** Groups with most runs; the others are one group. */
const maxGroups = 20

export const maxRuns = 200_000

/** Sums the ended runs of the caller's tenant by time and group. Throws a validation error for a span with too many buckets. */
export async function readSeries(store: SeriesStore, { tenant }: Owner, query: SeriesQuery, now: number): Promise<SeriesView> {
  const { bucket, by } = query
  const { since, until } = spanOf(query, now)
  const groups = new Map<string | null, Group>()
  let runCount = 0
  let completeSince: number | undefined
  for await (const page of store.runs(tenant, { since, until }, by)) {
    for (const run of page) addRun(groups, run, bucketMs[bucket])
    runCount += page.length
    if (runCount < maxRuns) continue
    completeSince = page.at(-1)!.endedAt
    break
  }
  const ranked = [...groups].toSorted(([, a], [, b]) => b.runs - a.runs)
  const top = ranked.slice(0, maxGroups).map(([key, group]) => ({ key, is_other: false, ...toSeries(group) }))
  const others = ranked.slice(maxGroups).map(([, group]) => group)
  return {
    bucket,
    by,
    since: new Date(since).toISOString(),
    until: new Date(until).toISOString(),
    ...(completeSince === undefined ? {} : { complete_since: new Date(completeSince).toISOString() }),
    series: others.length === 0 ? top : [...top, { key: null, is_other: true, ...toSeries(merge(others)) }],
  }
}

/** The requested span, from the start of its first bucket. */
function spanOf({ bucket, since, until }: SeriesQuery, now: number) {
  const ms = bucketMs[bucket]
  const end = until ?? now
  const start = since ?? end - (defaultBuckets[bucket] - 1) * ms
  if (start >= end) throw invalid(['query', 'since'], 'is not before until')
  const first = start - (start % ms)
  if ((end - first) / ms > maxBuckets[bucket]) {
    throw invalid(['query', 'since'], `is more than ${maxBuckets[bucket]} buckets of a ${bucket} before until`)
  }
  return { since: first, until: end }
}

interface Sums {
  runs: number
  errors: number
  toolErrors: number
  tokens: number
  cost: number | undefined
  latenciesMs: number[]
}

interface Group {
  runs: number
  /** By start of the bucket. */
  buckets: Map<number, Sums>
}

function addRun(groups: Map<string | null, Group>, run: SeriesRun, ms: number): void {
  const key = run.key ?? null
  const group = groups.get(key) ?? { runs: 0, buckets: new Map<number, Sums>() }
  groups.set(key, group)
  group.runs += 1
  addSums(group.buckets, run.endedAt - (run.endedAt % ms), {
    runs: 1,
    errors: run.status === 'error' ? 1 : 0,
    toolErrors: run.hasToolErrors ? 1 : 0,
    tokens: run.tokens,
    cost: run.cost,
    latenciesMs: [run.latencyMs],
  })
}

function addSums(buckets: Group['buckets'], start: number, sums: Sums): void {
  const total = buckets.get(start)
  if (!total) return void buckets.set(start, { ...sums, latenciesMs: [...sums.latenciesMs] })
  total.runs += sums.runs
  total.errors += sums.errors
  total.toolErrors += sums.toolErrors
  total.tokens += sums.tokens
  if (sums.cost !== undefined) total.cost = (total.cost ?? 0) + sums.cost
  for (const latencyMs of sums.latenciesMs) total.latenciesMs.push(latencyMs)
}

function merge(groups: readonly Group[]): Group {
  const merged: Group = { runs: 0, buckets: new Map() }
  for (const { runs, buckets } of groups) {
    merged.runs += runs
    for (const [start, sums] of buckets) addSums(merged.buckets, start, sums)
  }
  return merged
}

function toSeries({ runs, buckets }: Group): { runs: number; points: SeriesPoint[] } {
  const ordered = [...buckets].toSorted(([a], [b]) => a - b)
  return { runs, points: ordered.map(([start, sums]) => toPoint(start, sums)) }
}

function toPoint(start: number, { runs, errors, toolErrors, tokens, cost, latenciesMs }: Sums): SeriesPoint {
  const sorted = latenciesMs.toSorted((a, b) => a - b)
  const latency = { mean: mean(sorted) / 1000, p50: percentile(sorted, 0.5) / 1000, p95: percentile(sorted, 0.95) / 1000 }
  return { start: new Date(start).toISOString(), runs, errors, tool_errors: toolErrors, latency, tokens, cost: cost ?? null }
}

/** Calls of each tool, most calls first. Percentiles in seconds. */
export interface ToolMetricsView {
  since: string
  until: string
  /** Present when there are more calls than one answer reads: only runs that ended from this time on are counted. */
  complete_since?: string
  tools: { tool: string; calls: number; errors: number; p50: number; p95: number }[]
}

export interface ToolMetricsQuery {
  since: number | undefined
  until: number | undefined
}

const defaultMs = 86_400_000

/** Tools of runs that one answer reads: a run with three tools counts three times. */
export const maxToolUses = 100_000

/** Tools with most calls. */
const maxTools = 500

/** Sums the tool calls of the caller's tenant. */
export async function readToolMetrics(
  store: SeriesStore,
  { tenant }: Owner,
  { since, until }: ToolMetricsQuery,
  now: number,
): Promise<ToolMetricsView> {
  const end = until ?? now
  const start = since ?? end - defaultMs
  if (start >= end) throw invalid(['query', 'since'], 'is not before until')
  const tools = new Map<string, ToolSums>()
  let useCount = 0
  let completeSince: number | undefined
  for await (const page of store.toolUses(tenant, { since: start, until: end })) {
    for (const use of page) addUse(tools, use)
    useCount += page.length
    if (useCount < maxToolUses) continue
    completeSince = page.at(-1)!.endedAt
    break
  }
  const ranked = [...tools].toSorted(([a, first], [b, second]) => second.calls - first.calls || (a < b ? -1 : 1))
  return {
    since: new Date(start).toISOString(),
    until: new Date(end).toISOString(),
    ...(completeSince === undefined ? {} : { complete_since: new Date(completeSince).toISOString() }),
    tools: ranked.slice(0, maxTools).map(([tool, { calls, errors, durationsMs }]) => {
      const sorted = durationsMs.toSorted((a, b) => a - b)
      return { tool, calls, errors, p50: percentile(sorted, 0.5) / 1000, p95: percentile(sorted, 0.95) / 1000 }
    }),
  }
}

interface ToolSums {
  calls: number
  errors: number
  durationsMs: number[]
}

function addUse(tools: Map<string, ToolSums>, { tool, calls, errors, durationsMs }: ToolUseRecord): void {
  const sums = tools.get(tool) ?? { calls: 0, errors: 0, durationsMs: [] }
  tools.set(tool, sums)
  sums.calls += calls
  sums.errors += errors
  for (const durationMs of durationsMs) sums.durationsMs.push(durationMs)
}

/** The smallest value that is at least as large as a share (0 to 1) of the sorted values; 0 without values (nearest rank). */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
}
