import 'uplot/dist/uPlot.min.css'
import { useEffect, useRef } from 'react'
import UPlot from 'uplot'
import type { ChartColors } from './chart-colors.ts'

export interface Line {
  label: string
  color: string
  values: readonly (number | null)[]
}

export interface PlotProps {
  /** Starts of the hours or days, in epoch seconds. */
  starts: readonly number[]
  lines: readonly Line[]
  bucket: 'hour' | 'day'
  kind: 'bars' | 'lines'
  format: (value: number) => string
  colors: ChartColors
  /** Index of the hour or day under the pointer; undefined where there is none. */
  onHover: (index: number | undefined) => void
}

const height = 168

/** Distances of the lines of the grid that are easy to read: counts have no halves. */
const steps = [0.0001, 0.001, 0.01, 0.1, 1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10].flatMap((step) => [step, 2 * step, 5 * step])

/** A chart of time, drawn on a canvas. The chart fills the width of the box, and is drawn again when the figures change. */
export function Plot(props: PlotProps) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot>(undefined)
  const { starts, lines, onHover } = props
  const look = [props.bucket, props.kind, props.colors.text, ...lines.flatMap(({ label, color }) => [label, color])].join('\n')
  const data = toData(starts, lines)
  useEffect(() => {
    const element = box.current!
    const drawn = new UPlot({ ...optionsOf(props, onHover), width: element.clientWidth, height }, data, element)
    plot.current = drawn
    const observer = new ResizeObserver(() => drawn.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      drawn.destroy()
    }
    // oxlint-disable-next-line react/exhaustive-deps -- new figures of the same lines are drawn by the effect below
  }, [look])
  useEffect(() => plot.current?.setData(data))
  return <div ref={box} style={{ height }} />
}

function toData(starts: readonly number[], lines: readonly Line[]): UPlot.AlignedData {
  return [[...starts], ...lines.map(({ values }) => [...values])]
}

function optionsOf(
  { lines, bucket, kind, format, colors }: PlotProps,
  onHover: PlotProps['onHover'],
): Omit<UPlot.Options, 'width' | 'height'> {
  const axis = { stroke: colors.text, font: '11px system-ui, sans-serif', ticks: { show: false } }
  return {
    // Days are those of UTC; hours are shown in the time of the browser.
    tzDate: (seconds) => (bucket === 'day' ? UPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC') : new Date(seconds * 1000)),
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: kind === 'lines' } },
    scales: { x: { range: (_plot, min, max) => widen(min, max, bucket) }, y: { range: (_plot, _min, max) => [0, (max || 1) * 1.08] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        space: 64,
        values: (_plot, splits, _axis, _space, step) => splits.map((at) => tick(at, step, bucket)),
      },
      {
        ...axis,
        grid: { stroke: colors.grid, width: 1 },
        size: 58,
        space: 28,
        incrs: steps,
        values: (_plot, splits) => splits.map((value) => (value === 0 ? '0' : format(value))),
      },
    ],
    series: [{}, ...lines.map(({ label, color }) => seriesOf(label, color, kind))],
    hooks: { setCursor: [({ cursor: { idx } }) => onHover(idx ?? undefined)] },
  }
}

function seriesOf(label: string, color: string, kind: PlotProps['kind']): UPlot.Series {
  if (kind === 'bars')
    return { label, stroke: color, fill: color, width: 0, paths: UPlot.paths.bars!({ size: [0.7, 36] }), points: { show: false } }
  return { label, stroke: color, width: 1.75, spanGaps: true, points: { size: 5, fill: color } }
}

/** Half an hour or day more at both ends, so that the first and the last bar are whole. */
function widen(min: number, max: number, bucket: PlotProps['bucket']): [number, number] {
  const half = bucket === 'day' ? 43_200 : 1800
  return [min - half, max + half]
}

const day = { day: 'numeric', month: 'short' } as const
const days = new Intl.DateTimeFormat('en-GB', day)
const utcDays = new Intl.DateTimeFormat('en-GB', { ...day, timeZone: 'UTC' })
const hours = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })

function tick(seconds: number, step: number, bucket: PlotProps['bucket']): string {
  const date = new Date(seconds * 1000)
  if (bucket === 'day') return utcDays.format(date)
  return step >= 86_400 || (date.getHours() === 0 && date.getMinutes() === 0) ? days.format(date) : hours.format(date)
}
