import { Cost, Duration, Tokens } from '../parts/figures.tsx'
import type { Column } from '../parts/pages/paged-table.tsx'
import { StatusBadge } from '../parts/status-badge.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import type { RunSummary } from './queries.ts'
import { operationLabels } from './labels.ts'
import { RunningDuration } from './running-duration.tsx'
import styles from './runs.module.css'

const question: Column<RunSummary> = {
  header: 'Question',
  width: 'minmax(220px, 3fr)',
  phone: 'minmax(0, 1fr)',
  cell: ({ input, request_id: id }) => (input === null ? <code className={styles.quiet}>{id}</code> : input.trim() || '(no text)'),
}

const caller: Column<RunSummary> = {
  header: 'Caller',
  width: 'minmax(90px, 1fr)',
  cell: ({ sub, issuer }) => <span title={`${sub} (${issuer})`}>{sub}</span>,
}

const others: readonly Column<RunSummary>[] = [
  { header: 'Status', width: '118px', phone: '118px', cell: statusOf },
  { header: 'Accepted', width: '112px', cell: ({ created_at: at }) => <Timestamp at={at} /> },
  { header: 'Kind', width: '84px', cell: ({ operation }) => <span className={styles.quiet}>{operationLabels[operation]}</span> },
  { header: 'Duration', width: '78px', align: 'end', cell: durationOf },
  { header: 'Tokens', width: '66px', align: 'end', cell: ({ tokens, ended_at: end }) => <Tokens count={end === null ? null : tokens} /> },
]

const cost: Column<RunSummary> = { header: 'Cost', width: '76px', align: 'end', cell: ({ cost: usd }) => <Cost usd={usd} /> }

/** Columns of the list: with the caller where runs of several callers are seen, and with the cost where a price is known. */
export function columnsOf({ seesTenant, hasCosts }: { seesTenant: boolean; hasCosts: boolean }): readonly Column<RunSummary>[] {
  return [question, ...(seesTenant ? [caller] : []), ...others, ...(hasCosts ? [cost] : [])]
}

/** A successful run with failed tool calls is marked: the answer may lack the results of these calls. */
function statusOf({ status, error_type: type, tool_errors: count }: RunSummary) {
  if (status !== 'success' || count === 0) return <StatusBadge status={status} title={type ?? undefined} />
  const label = count === 1 ? '1 tool error' : `${count} tool errors`
  return <StatusBadge status="warning" label={label} title={`The run has answered. Failed calls of tools: ${count}`} />
}

function durationOf({ started_at: start, ended_at: end, status }: RunSummary) {
  if (start === null) return <Duration ms={null} />
  if (end !== null) return <Duration ms={Date.parse(end) - Date.parse(start)} />
  return status === 'running' ? <RunningDuration since={start} /> : <Duration ms={null} />
}
