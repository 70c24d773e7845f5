import { Button } from '@mantine/core'
import { useState } from 'react'
import { useChartColors } from './chart-colors.ts'
import { Plot, type PlotProps } from './plot.tsx'
import styles from './metrics.module.css'

interface ChartProps extends Omit<PlotProps, 'colors' | 'onHover'> {
  title: string
}

/** A chart with its legend. The pointer shows the figures of an hour or day; a button shows all of them as a table. */
export function Chart({ title, ...plot }: ChartProps) {
  const colors = useChartColors()
  const [isTable, setTable] = useState(false)
  const [hovered, setHovered] = useState<number>()
  const { starts, lines, bucket, format } = plot
  const at = hovered === undefined || isTable ? undefined : starts[hovered]
  return (
    <section className={styles.chart} aria-label={title}>
      <div className={styles.chartHead}>
        <h2 className={styles.chartTitle}>{title}</h2>
        {at !== undefined && <span className={styles.quiet}>{formatStart(at, bucket)}</span>}
        <Button
          size="compact-xs"
          variant="subtle"
          color="gray"
          className={styles.toggle}
          aria-pressed={isTable}
          aria-label={`${title} as a table`}
          onClick={() => setTable(!isTable)}
        >
          Table
        </Button>
      </div>
      {isTable ? (
        <Figures title={title} starts={starts} lines={lines} bucket={bucket} format={format} />
      ) : (
        <>
          <div
            role="img"
            aria-label={`${title} by ${bucket}, ${lines.map(({ label }) => label).join(', ')}. All figures are in its table.`}
          >
            <Plot {...plot} colors={colors} onHover={setHovered} />
          </div>
          <ul className={styles.legend}>
            {lines.map(({ label, color, values }) => (
              <li key={label}>
                <span className={styles.swatch} style={{ background: color }} />
                <span className={styles.legendLabel}>{label}</span>
                {hovered !== undefined && <b>{toText(values[hovered], format)}</b>}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  )
}

type FiguresProps = Pick<ChartProps, 'title' | 'starts' | 'lines' | 'bucket' | 'format'>

/** The figures of a chart, the newest first. */
function Figures({ title, starts, lines, bucket, format }: FiguresProps) {
  return (
    <div className={styles.figures} role="region" aria-label={`${title}, table`} tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">{bucket === 'day' ? 'Day' : 'Hour'}</th>
            {lines.map(({ label }) => (
              <th key={label} scope="col" data-align="end" title={label}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {starts
            .map((_start, index) => index)
            .toReversed()
            .map((index) => (
              <tr key={starts[index]}>
                <th scope="row">{formatStart(starts[index]!, bucket)}</th>
                {lines.map(({ label, values }) => (
                  <td key={label} data-align="end">
                    {toText(values[index], format)}
                  </td>
                ))}
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  )
}

function toText(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value)
}

const days = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })
const hours = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' })

function formatStart(seconds: number, bucket: 'hour' | 'day'): string {
  return (bucket === 'day' ? days : hours).format(new Date(seconds * 1000))
}
