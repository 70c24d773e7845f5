import { formatCost } from '../parts/format-cost.ts'
import { formatDuration } from '../parts/time-format.ts'
import { Chart } from './chart.tsx'
import { maxLines, useChartColors } from './chart-colors.ts'
import { startsOf, totalsOf, valuesOf, type Point } from './columns.ts'
import type { Line } from './plot.tsx'
import type { SeriesReply } from './queries.ts'
import { nameOf } from './series-name.ts'
import styles from './metrics.module.css'

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const count = (value: number): string => compact.format(value)
const seconds = (value: number): string => formatDuration(value * 1000)

/** Runs, errors, latency, tokens and cost of all runs. */
export function TotalCharts({ reply }: { reply: SeriesReply }) {
  const { lines, bad } = useChartColors()
  const starts = startsOf(reply)
  const points = reply.series[0]?.points ?? []
  const line = (label: string, color: string, value: (point: Point) => number | null, missing: number | null = 0): Line => ({
    label,
    color,
    values: valuesOf(starts, points, value, missing),
  })
  const common = { starts, bucket: reply.bucket }
  const hasCost = totalsOf(points).cost !== null
  return (
    <div className={styles.charts}>
      <Chart
        {...common}
        title="Runs"
        kind="bars"
        format={count}
        lines={[line('All', lines[0]!, ({ runs }) => runs), line('Errors', bad, ({ errors }) => errors)]}
      />
      <Chart
        {...common}
        title="Latency"
        kind="lines"
        format={seconds}
        lines={[line('p50', lines[1]!, ({ latency }) => latency.p50, null), line('p95', lines[2]!, ({ latency }) => latency.p95, null)]}
      />
      <Chart {...common} title="Tokens" kind="bars" format={count} lines={[line('Tokens', lines[0]!, ({ tokens }) => tokens)]} />
      {hasCost && <Chart {...common} title="Cost" kind="bars" format={formatCost} lines={[line('Cost', lines[1]!, ({ cost }) => cost)]} />}
    </div>
  )
}

/** Figures with a line for each tool, version or caller. */
export function GroupCharts({ reply }: { reply: SeriesReply }) {
  const { lines: colors } = useChartColors()
  const starts = startsOf(reply)
  const groups = reply.series.slice(0, maxLines)
  const linesOf = (value: (point: Point) => number | null, missing: number | null): Line[] =>
    groups.map((series, index) => ({
      label: nameOf(series, reply.by),
      color: series.is_other ? colors.at(-1)! : colors[index]!,
      values: valuesOf(starts, series.points, value, missing),
    }))
  const common = { starts, bucket: reply.bucket, kind: 'lines' as const }
  const hasCost = reply.series.some(({ points }) => totalsOf(points).cost !== null)
  return (
    <div className={styles.charts}>
      <Chart {...common} title="Runs" format={count} lines={linesOf(({ runs }) => runs, 0)} />
      <Chart {...common} title="Errors" format={count} lines={linesOf(({ errors }) => errors, 0)} />
      <Chart {...common} title="Latency, p95" format={seconds} lines={linesOf(({ latency }) => latency.p95, null)} />
      <Chart {...common} title="Tokens" format={count} lines={linesOf(({ tokens }) => tokens, 0)} />
      {hasCost && <Chart {...common} title="Cost" format={formatCost} lines={linesOf(({ cost }) => cost, 0)} />}
    </div>
  )
}
