import { Link } from 'wouter'
import { useToolFigures, type ToolFigures } from '../api/tool-figures.ts'
import { Cost, Duration, Tokens } from '../parts/figures.tsx'
import type { Period } from '../parts/period.ts'
import { RowsSkeleton } from '../parts/skeletons.tsx'
import { FailedState } from '../parts/states.tsx'
import { formatShare, totalsOf, type Totals } from './columns.ts'
import { useSeries } from './queries.ts'
import styles from './metrics.module.css'

/** Calls, errors and durations of each tool, most calls first, with the tokens and the cost of the runs that called the tool. */
export function ToolTable({ period }: { period: Period }) {
  const { data, error, refetch } = useToolFigures(period)
  const series = useSeries(period, 'tool').data?.series ?? []
  const totals = new Map(series.map(({ key, points }) => [key, totalsOf(points)]))
  const hasCosts = [...totals.values()].some(({ cost }) => cost !== null)
  if (!data && error) return <FailedState title="The figures of the tools could not be loaded" error={error} retry={() => void refetch()} />
  if (!data) return <RowsSkeleton count={3} />
  if (data.length === 0) return <p className={styles.quiet}>No run of this period has called a tool.</p>
  return (
    <div className={styles.box} role="region" aria-label="Calls of tools" tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Tool</th>
            {['Calls', 'Errors', 'Error rate', 'p50', 'p95', 'Tokens of its runs', ...(hasCosts ? ['Cost of its runs'] : [])].map(
              (title) => (
                <th key={title} scope="col" data-align="end">
                  {title}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {data.map((tool) => (
            <ToolRow key={tool.tool} figures={tool} runs={totals.get(tool.tool)} hasCosts={hasCosts} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface ToolRowProps {
  figures: ToolFigures
  /** Absent for tools that are none of the groups with most runs. */
  runs: Totals | undefined
  hasCosts: boolean
}

function ToolRow({ figures: { tool, calls, errors, p50, p95 }, runs, hasCosts }: ToolRowProps) {
  return (
    <tr>
      <th scope="row" title={tool.slice(0, 300)}>
        <Link href={`/tools/${encodeURIComponent(tool)}`} className={styles.link}>
          {tool}
        </Link>
      </th>
      <td data-align="end">{calls.toLocaleString('en')}</td>
      <td data-align="end" data-bad={errors > 0}>
        {errors.toLocaleString('en')}
      </td>
      <td data-align="end">{formatShare(errors, calls)}</td>
      <td data-align="end">
        <Duration ms={p50 * 1000} />
      </td>
      <td data-align="end">
        <Duration ms={p95 * 1000} />
      </td>
      <td data-align="end">
        <Tokens count={runs?.tokens} />
      </td>
      {hasCosts && (
        <td data-align="end">
          <Cost usd={runs?.cost} />
        </td>
      )}
    </tr>
  )
}
