/** Figures of the runs that ended in one hour or day. */
export interface Point {
  start: string
  runs: number
  errors: number
  /** Runs with a failed call of a tool. */
  tool_errors: number
  /** Seconds. */
  latency: { mean: number; p50: number; p95: number }
  tokens: number
  /** USD; null where no prices are configured. */
  cost: number | null
}

interface Range {
  bucket: 'hour' | 'day'
  since: string
  until: string
}

const bucketMs = { hour: 3_600_000, day: 86_400_000 }

/** Starts of all hours or days of a range, in epoch seconds. */
export function startsOf({ bucket, since, until }: Range): number[] {
  const first = Date.parse(since)
  const count = Math.max(1, Math.ceil((Date.parse(until) - first) / bucketMs[bucket]))
  return Array.from({ length: count }, (_, index) => (first + index * bucketMs[bucket]) / 1000)
}

/** The value of each start. An hour or day without runs has `missing`: 0 for counts, null for times. */
export function valuesOf(
  starts: readonly number[],
  points: readonly Point[],
  value: (point: Point) => number | null,
  missing: number | null,
): (number | null)[] {
  const byStart = new Map(points.map((point) => [Date.parse(point.start) / 1000, value(point)]))
  return starts.map((start) => byStart.get(start) ?? missing)
}

/** Sums of a series. Percentiles cannot be summed, so the mean stands for the latency. */
export interface Totals {
  runs: number
  errors: number
  toolErrors: number
  /** Mean seconds of a run; null without runs. */
  latency: number | null
  tokens: number
  cost: number | null
}

export function totalsOf(points: readonly Point[]): Totals {
  const sum = (value: (point: Point) => number): number => points.reduce((total, point) => total + value(point), 0)
  const runs = sum((point) => point.runs)
  return {
    runs,
    errors: sum((point) => point.errors),
    toolErrors: sum((point) => point.tool_errors),
    latency: runs === 0 ? null : sum((point) => point.latency.mean * point.runs) / runs,
    tokens: sum((point) => point.tokens),
    cost: points.some(({ cost }) => cost !== null) ? sum((point) => point.cost ?? 0) : null,
  }
}

/** A share in percent: "0 %", "0.4 %", "12 %"; a dash of nothing. */
export function formatShare(part: number, whole: number): string {
  if (whole === 0) return '–'
  const percent = (100 * part) / whole
  return `${Number(percent.toFixed(percent < 10 ? 1 : 0))} %`
}
