import type { Owner } from '../../access/owner.ts'
import { invalid } from '../../errors.ts'
import { percentile } from './percentile.ts'
import type { SeriesStore, ToolUseRecord } from './series-store.ts'

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
