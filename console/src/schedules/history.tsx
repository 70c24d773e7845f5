import { VisuallyHidden } from '@mantine/core'
import { HistoryIcon } from '@primer/octicons-react'
import { Link } from 'wouter'
import { PagedTable, type Column } from '../parts/pages/paged-table.tsx'
import { EmptyState } from '../parts/states.tsx'
import { StatusBadge } from '../parts/status-badge.tsx'
import { formatExact } from '../parts/time-format.ts'
import { Timestamp } from '../parts/timestamp.tsx'
import { useFires, type Fire } from './queries.ts'
import styles from './schedules.module.css'

const maxDots = 60

/** The history of a schedule: a row of dots, oldest first, and a list. */
export function History({ id }: { id: string }) {
  const fires = useFires(id)
  return (
    <>
      {fires.rows.length > 0 && (
        <section aria-label="History" className={styles.history}>
          <h2 className={styles.subtitle}>History</h2>
          <ol className={styles.dots}>
            {fires.rows
              .slice(0, maxDots)
              .toReversed()
              .map((fire) => (
                <li key={`${fire.scheduled_for} ${fire.request_id ?? ''}`}>
                  <Dot fire={fire} />
                </li>
              ))}
          </ol>
        </section>
      )}
      <PagedTable
        label="Times"
        pages={fires}
        columns={columns}
        idOf={({ scheduled_for: time, request_id: run }) => `${time} ${run ?? ''}`}
        empty={
          <EmptyState icon={HistoryIcon} title="No time has come yet">
            Each time of the schedule appears here, with the run that it has started.
          </EmptyState>
        }
      />
    </>
  )
}

/** The state of the run, or the outcome of a time without a run. */
function stateOf({ outcome, status }: Fire): string {
  return outcome === 'started' ? (status ?? 'removed') : outcome
}

const runHref = (requestId: string) => `/runs/${encodeURIComponent(requestId)}`

function Dot({ fire }: { fire: Fire }) {
  const { scheduled_for: time, reason, request_id: requestId, count = 1 } = fire
  const state = stateOf(fire)
  const words = [formatExact(new Date(time)), state, reason, count > 1 && `${count} times`].filter(Boolean).join(', ')
  const shared = { className: styles.dot, 'data-state': state, title: words }
  if (requestId === undefined)
    return (
      <span {...shared}>
        <VisuallyHidden>{words}</VisuallyHidden>
      </span>
    )
  return <Link href={runHref(requestId)} {...shared} aria-label={words} />
}

const columns: readonly Column<Fire>[] = [
  { header: 'Time', width: 'minmax(170px, 1fr)', phone: 'minmax(0, 1fr)', cell: ({ scheduled_for: at }) => <Timestamp at={at} isExact /> },
  { header: 'State', width: '130px', phone: '106px', cell: (fire) => <StatusBadge status={stateOf(fire)} /> },
  {
    header: 'Why',
    width: 'minmax(90px, 1fr)',
    cell: ({ reason, count = 1 }) => (
      <span className={styles.quiet} title={reason?.slice(0, 300)}>
        {[reason, count > 1 && `${count} times up to this one`].filter(Boolean).join(', ')}
      </span>
    ),
  },
  {
    header: 'Run',
    width: '70px',
    phone: '44px',
    cell: ({ request_id: requestId, scheduled_for: time }) =>
      requestId !== undefined && (
        <Link href={runHref(requestId)} className={styles.link} aria-label={`Run of ${formatExact(new Date(time))}`}>
          Run
        </Link>
      ),
  },
]
