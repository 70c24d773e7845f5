import { Select } from '@mantine/core'
import { GraphIcon } from '@primer/octicons-react'
import { PageHeader } from '../parts/page-header.tsx'
import { useFilters } from '../parts/pages/use-filters.ts'
import { PeriodSelect } from '../parts/period-select.tsx'
import type { Period } from '../parts/period.ts'
import { RowsSkeleton } from '../parts/skeletons.tsx'
import { EmptyState, FailedState } from '../parts/states.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import { maxLines } from './chart-colors.ts'
import { GroupCharts, TotalCharts } from './charts.tsx'
import { GroupTable } from './group-table.tsx'
import { useSeries, type Grouping, type SeriesReply } from './queries.ts'
import { ToolTable } from './tool-table.tsx'
import { TotalsRow } from './totals.tsx'
import styles from './metrics.module.css'

const groupings = [
  { value: 'none', label: 'All runs' },
  { value: 'tool', label: 'By tool' },
  { value: 'version', label: 'By version' },
  { value: 'sub', label: 'By caller' },
] as const

const choices: readonly Period[] = ['24h', '7d', '30d']

/** Runs, errors, latency, tokens and cost over time: of all runs, or by tool, version or caller. */
export function MetricsPage() {
  const [filters, setFilter] = useFilters(['period', 'by'])
  const period = choices.find((choice) => choice === filters.period) ?? '24h'
  const by = groupings.find(({ value }) => value === filters.by)?.value ?? 'none'
  return (
    <>
      <PageHeader
        title="Metrics"
        actions={
          <>
            <Select
              aria-label="Groups"
              w={150}
              data={groupings}
              value={by}
              onChange={(value) => setFilter('by', value === 'none' ? undefined : value)}
              allowDeselect={false}
            />
            <PeriodSelect value={period} choices={choices} onChange={(value) => setFilter('period', value === '24h' ? undefined : value)} />
          </>
        }
      >
        The ended runs of your tenant.
      </PageHeader>
      <div className={styles.body}>
        <Figures period={period} by={by} />
      </div>
    </>
  )
}

function Figures({ period, by }: { period: Period; by: Grouping }) {
  const all = useSeries(period, 'none')
  const groups = useSeries(period, by)
  const error = all.error ?? groups.error
  if (error && (!all.data || !groups.data)) {
    return (
      <FailedState
        title="The metrics could not be loaded"
        error={error}
        retry={() => void Promise.all([all.refetch(), groups.refetch()])}
      />
    )
  }
  if (!all.data || !groups.data) return <RowsSkeleton />
  const points = all.data.series[0]?.points ?? []
  if (points.length === 0) return <NoRuns />
  return (
    <>
      <Completeness reply={all.data} />
      <TotalsRow points={points} />
      {by === 'none' ? <TotalCharts reply={all.data} /> : <GroupCharts key={by} reply={groups.data} />}
      {by !== 'none' && groups.data.series.length > maxLines && (
        <p className={styles.quiet}>The charts show the first {maxLines} groups, the table all.</p>
      )}
      {by !== 'none' && <GroupTable reply={groups.data} period={period} />}
      <section aria-label="Tools">
        <h2 className={styles.title}>Calls of tools</h2>
        <ToolTable period={period} />
      </section>
    </>
  )
}

/** Says where the figures begin when there are more runs than one answer reads. */
function Completeness({ reply: { complete_since: since } }: { reply: SeriesReply }) {
  if (since === undefined) return null
  return (
    <p className={styles.quiet}>
      There are more runs than one answer reads: the figures begin at <Timestamp at={since} isExact />.
    </p>
  )
}

function NoRuns() {
  return (
    <EmptyState icon={GraphIcon} title="No run has ended in this period">
      Each chat counts here once it has ended: its time, tokens, cost and tools. Choose a longer period, or ask the agent something.
    </EmptyState>
  )
}
