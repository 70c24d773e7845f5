import { TextInput } from '@mantine/core'
import { LogIcon, SearchIcon } from '@primer/octicons-react'
import { Duration, Tokens } from '../parts/figures.tsx'
import { PagedTable, type Column } from '../parts/pages/paged-table.tsx'
import { useFilters } from '../parts/pages/use-filters.ts'
import { PeriodSelect } from '../parts/period-select.tsx'
import { EmptyState } from '../parts/states.tsx'
import { StatusBadge } from '../parts/status-badge.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import type { LogEntry } from './log-entries.ts'
import { useLogs } from './log-queries.ts'
import styles from './runs.module.css'

/** Ended runs of the tenant: outcome, duration and usage of each. */
export function LogTable() {
  const [{ run, period }, setFilter] = useFilters(['run', 'period'])
  const logs = useLogs({ run, period })
  const isFiltered = run !== undefined || period !== undefined
  return (
    <>
      <search className={styles.filters} aria-label="Filters">
        <Filters run={run} period={period} setFilter={setFilter} />
      </search>
      <PagedTable
        label="Log"
        pages={logs}
        columns={columns}
        idOf={({ id, end_time: endTime }) => `${id} ${endTime}`}
        hrefOf={({ id }) => `/runs/${encodeURIComponent(id)}`}
        empty={isFiltered ? <NoMatch /> : <NoLogs />}
        minWidth={860}
      />
    </>
  )
}

interface FiltersProps {
  run: string | undefined
  period: string | undefined
  setFilter: (name: 'run' | 'period', value: string | undefined) => void
}

function Filters({ run, period, setFilter }: FiltersProps) {
  return (
    <>
      <TextInput
        aria-label="Request id"
        placeholder="Request id"
        leftSection={<SearchIcon size={14} />}
        w={240}
        defaultValue={run}
        key={run}
        onBlur={(event) => setFilter('run', event.currentTarget.value.trim())}
        onKeyDown={(event) => event.key === 'Enter' && setFilter('run', event.currentTarget.value.trim())}
      />
      <PeriodSelect value={period} onChange={(value) => setFilter('period', value)} />
    </>
  )
}

const columns: readonly Column<LogEntry>[] = [
  { header: 'Ended', width: '130px', phone: '92px', cell: ({ end_time: endTime }) => <Timestamp at={endTime} /> },
  { header: 'Status', width: '120px', phone: '88px', cell: ({ status }) => <StatusBadge status={status} /> },
  { header: 'Model', width: 'minmax(120px, 1fr)', cell: ({ model }) => model ?? '–' },
  { header: 'Duration', width: '90px', align: 'end', cell: ({ latency }) => <Duration ms={latency * 1000} /> },
  { header: 'Tokens', width: '80px', align: 'end', cell: ({ total_tokens: tokens }) => <Tokens count={tokens} /> },
  {
    header: 'Error',
    width: 'minmax(160px, 2fr)',
    phone: 'minmax(0, 1fr)',
    cell: ({ error }) => <span title={error?.slice(0, 500)}>{error ?? ''}</span>,
  },
  { header: 'Request id', width: 'minmax(120px, 1fr)', cell: ({ id }) => <code className={styles.id}>{id}</code> },
]

function NoLogs() {
  return (
    <EmptyState icon={LogIcon} title="No run has ended yet">
      Each question to the agent, from anybody in your tenant, appears here once it has been answered or has failed.
    </EmptyState>
  )
}

function NoMatch() {
  return (
    <EmptyState icon={SearchIcon} title="No run matches">
      Choose a longer period, or remove the request id.
    </EmptyState>
  )
}
