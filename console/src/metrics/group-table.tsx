import { Link } from 'wouter'
import { Cost, Duration, Tokens } from '../parts/figures.tsx'
import { maxLines, useChartColors } from './chart-colors.ts'
import { formatShare, totalsOf } from './columns.ts'
import type { Grouping, Series, SeriesReply } from './queries.ts'
import { nameOf } from './series-name.ts'
import styles from './metrics.module.css'

const titles = { none: 'Runs', tool: 'Tool', version: 'Version', sub: 'Caller' }

/** The groups with figures, each with a link to the runs. */
export function GroupTable({ reply: { by, series }, period }: { reply: SeriesReply; period: string }) {
  const { lines } = useChartColors()
  const hasCosts = series.some(({ points }) => points.some(({ cost }) => cost !== null))
  return (
    <div className={styles.box} role="region" aria-label={`Figures by ${titles[by].toLowerCase()}`} tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">{titles[by]}</th>
            {['Runs', 'Errors', 'Error rate', 'Mean latency', 'Tokens', ...(hasCosts ? ['Cost'] : [])].map((title) => (
              <th key={title} scope="col" data-align="end">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {series.map((group, index) => (
            <GroupRow
              key={`${group.is_other} ${group.key}`}
              group={group}
              by={by}
              period={period}
              hasCosts={hasCosts}
              color={index < maxLines ? lines[index] : undefined}
            />
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface GroupRowProps {
  group: Series
  by: Grouping
  period: string
  hasCosts: boolean
  /** Colour of the group in the charts; absent where the charts leave it out. */
  color: string | undefined
}

function GroupRow({ group, by, period, hasCosts, color }: GroupRowProps) {
  const { runs, errors, latency, tokens, cost } = totalsOf(group.points)
  const name = nameOf(group, by)
  return (
    <tr>
      <th scope="row" title={group.key?.slice(0, 300)}>
        <span className={styles.swatch} style={{ background: color ?? 'transparent' }} />
        {group.key === null ? (
          name
        ) : (
          <Link href={`/runs?${new URLSearchParams({ [by]: group.key, period }).toString()}`} className={styles.link}>
            {name}
          </Link>
        )}
      </th>
      <td data-align="end">{runs.toLocaleString('en')}</td>
      <td data-align="end" data-bad={errors > 0}>
        {errors.toLocaleString('en')}
      </td>
      <td data-align="end">{formatShare(errors, runs)}</td>
      <td data-align="end">
        <Duration ms={latency === null ? null : latency * 1000} />
      </td>
      <td data-align="end">
        <Tokens count={tokens} />
      </td>
      {hasCosts && (
        <td data-align="end">
          <Cost usd={cost} />
        </td>
      )}
    </tr>
  )
}
