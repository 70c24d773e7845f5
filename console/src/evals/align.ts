import type { TraceEntry } from './experiment-queries.ts'

/** An entry of each trace at one place; undefined where a trace has ended. */
export interface AlignedRow {
  entries: (TraceEntry | undefined)[]
  /** True where the traces differ in anything. */
  isDifferent: boolean
}

export interface Alignment {
  rows: AlignedRow[]
  /** Index of the first divergence; undefined for traces that say and do the same. */
  divergence: number | undefined
}

/**
 * Puts traces side by side. The first divergence is the first place at which the agents do different things: another call, or none. Traces with
 * the same calls diverge at the first reply with another text.
 */
export function align(traces: readonly (readonly TraceEntry[])[]): Alignment {
  const length = Math.max(0, ...traces.map((trace) => trace.length))
  const rows = Array.from({ length }, (_, index): AlignedRow => {
    const entries = traces.map((trace) => trace[index])
    return { entries, isDifferent: isDifferent(entries, textOf) }
  })
  const byCall = rows.findIndex(({ entries }) => isDifferent(entries, callOf))
  const first = byCall < 0 ? rows.findIndex((row) => row.isDifferent) : byCall
  return { rows, divergence: first < 0 ? undefined : first }
}

function isDifferent(entries: readonly (TraceEntry | undefined)[], keyOf: (entry: TraceEntry | undefined) => string): boolean {
  return new Set(entries.map(keyOf)).size > 1
}

/** What an agent does at a place. The order of JSON keys, and the words of a reply, do not count. */
function callOf(entry: TraceEntry | undefined): string {
  if (entry?.kind !== 'call') return entry?.kind ?? 'end'
  return JSON.stringify([entry.tool, sortKeys(entry.tool_input)])
}

function textOf(entry: TraceEntry | undefined): string {
  return callOf(entry) + JSON.stringify([entry?.text, entry?.output, entry?.status])
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sortKeys(member)]),
  )
}
