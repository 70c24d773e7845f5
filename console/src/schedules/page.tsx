import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { ClockIcon, PlusIcon } from '@primer/octicons-react'
import { useLocation } from 'wouter'
import { useMay, useMe } from '../api/me.ts'
import { PageHeader } from '../parts/page-header.tsx'
import { PagedTable, type Column } from '../parts/pages/paged-table.tsx'
import { EmptyState } from '../parts/states.tsx'
import { StatusBadge } from '../parts/status-badge.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import { CreateDialog } from './dialogs.tsx'
import { useSchedules, type Schedule } from './queries.ts'
import { When } from './when.tsx'
import styles from './schedules.module.css'

/** The visible schedules: times, state, and the end of the last run. */
export function SchedulesPage() {
  const may = useMay()
  const me = useMe().data
  const schedules = useSchedules()
  const [isCreating, creation] = useDisclosure(false)
  const [, navigate] = useLocation()
  const hasOthers = schedules.rows.some(({ sub, issuer }) => sub !== me?.sub || issuer !== me.issuer)
  const create = may('schedules.write') && may('chat') && (
    <Button leftSection={<PlusIcon />} onClick={creation.open}>
      New schedule
    </Button>
  )
  return (
    <>
      <PageHeader title="Schedules" actions={create}>
        Questions that the agent is asked by itself, again and again, or once at a time.
      </PageHeader>
      <PagedTable
        label="Schedules"
        pages={schedules}
        columns={hasOthers ? [name, caller, ...details] : [name, ...details]}
        idOf={({ id }) => id}
        hrefOf={({ id }) => `/schedules/${encodeURIComponent(id)}`}
        empty={
          <EmptyState icon={ClockIcon} title="There are no schedules" action={create}>
            A schedule asks the agent at its times, such as for a report each morning, and can send the answer to a webhook. The{' '}
            <a href="../docs/guides/schedules">guide</a> explains the fields.
          </EmptyState>
        }
      />
      <CreateDialog isOpen={isCreating} onClose={creation.close} onCreated={(id) => navigate(`/schedules/${encodeURIComponent(id)}`)} />
    </>
  )
}

const name: Column<Schedule> = { header: 'Name', width: 'minmax(140px, 2fr)', phone: 'minmax(0, 1fr)', cell: ({ name: text }) => text }

const caller: Column<Schedule> = {
  header: 'Caller',
  width: 'minmax(80px, 1fr)',
  cell: ({ sub, issuer }) => <span title={`${sub} (${issuer})`}>{sub}</span>,
}

const details: readonly Column<Schedule>[] = [
  { header: 'When', width: 'minmax(160px, 2fr)', cell: (schedule) => <When schedule={schedule} /> },
  {
    header: 'State',
    width: '100px',
    phone: '92px',
    cell: ({ status, pause_reason: reason }) => <StatusBadge status={status} title={reason?.slice(0, 200)} />,
  },
  {
    header: 'Next',
    width: '100px',
    phone: '92px',
    cell: ({ next_at: at, status }) =>
      at === null || status !== 'active' ? <span className={styles.quiet}>–</span> : <Timestamp at={at} />,
  },
  {
    header: 'Last run',
    width: '118px',
    cell: ({ last }) => last && <StatusBadge status={last.status ?? 'removed'} title={last.scheduled_for} />,
  },
]
