import { Link } from 'wouter'
import { useMay } from '../api/me.ts'
import { formatCost } from '../parts/format-cost.ts'
import { formatDuration } from '../parts/time-format.ts'
import { formatShare, totalsOf, type Point } from './columns.ts'
import styles from './metrics.module.css'

const whole = new Intl.NumberFormat('en')
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** The figures of the whole period. */
export function TotalsRow({ points }: { points: readonly Point[] }) {
  const { runs, errors, toolErrors, latency, tokens, cost } = totalsOf(points)
  return (
    <dl className={styles.totals}>
      <Figure name="Runs" value={whole.format(runs)} />
      <Figure name="Errors" value={whole.format(errors)} note={formatShare(errors, runs)} isBad={errors > 0} />
      <Figure name="With tool errors" value={whole.format(toolErrors)} note={formatShare(toolErrors, runs)} isBad={toolErrors > 0} />
      <Figure name="Mean latency" value={latency === null ? '–' : formatDuration(latency * 1000)} />
      <Figure name="Tokens" value={compact.format(tokens)} note={runs > 0 ? `${compact.format(tokens / runs)} a run` : undefined} />
      {cost === null ? <NoCost /> : <Figure name="Cost" value={formatCost(cost)} />}
    </dl>
  )
}

/** No model of these runs has a price, so the page leads to the place where prices are set. */
function NoCost() {
  const mayWrite = useMay()('config.write')
  return (
    <div>
      <dt>Cost</dt>
      <dd className={styles.advice}>
        No price is known:{' '}
        {mayWrite ? <Link href="/agent#prices">set prices</Link> : <a href="../docs/start/real-model#what-a-run-costs">what a run costs</a>}
      </dd>
    </div>
  )
}

interface FigureProps {
  name: string
  value: string
  note?: string | undefined
  isBad?: boolean
}

function Figure({ name, value, note, isBad = false }: FigureProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd data-bad={isBad}>
        {value} {note !== undefined && <small>{note}</small>}
      </dd>
    </div>
  )
}
