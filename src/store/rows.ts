import type { RunningSummary, StoredRun, Turn } from '../runs/run-store.ts'
import type { EndedStatus, Operation, RunKey, RunStatus } from '../runs/run.ts'
import type { RunRow, SessionRow } from './tables.ts'

/** Conversions between rows and the types of runs. */

export const hourMs = 3_600_000

export function hourOf(ms: number): number {
  return Math.floor(ms / hourMs) * hourMs
}

/** Replaces NUL by U+FFFD: Postgres refuses NUL in a text. Either database stores half a surrogate pair as U+FFFD. */
export function toText(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text
}

export function json(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

// Callers name the type of the value that they stored.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function parseJson<T>(text: string | null): T | undefined {
  return text === null ? undefined : (JSON.parse(text) as T)
}

export function keyColumns({ tenant, owner, requestId }: RunKey) {
  return { tenant, owner, request_id: requestId }
}

/** Counters of the metrics for a single run of this status. */
export function countOf(status: string) {
  const countIf = (expected: EndedStatus) => (status === expected ? 1 : 0)
  return { success: countIf('success'), error: countIf('error'), cancelled: countIf('cancelled'), timeout: countIf('timeout') }
}

export function toWindow({ window_start, summary }: Pick<SessionRow, 'window_start' | 'summary'>): Pick<Turn, 'windowStart' | 'summary'> {
  return { windowStart: window_start, ...(summary === null ? {} : { summary: JSON.parse(summary) as RunningSummary }) }
}

export function toStoredRun(row: RunRow): StoredRun {
  return {
    tenant: row.tenant,
    owner: row.owner,
    requestId: row.request_id,
    session: row.session ?? undefined,
    sessionId: row.session_id,
    operation: row.operation as Operation,
    bodyHash: row.body_hash,
    request: parseJson(row.request),
    status: row.status as RunStatus,
    onDisconnect: row.on_disconnect as 'cancel' | 'continue',
    holder: row.holder,
    fence: row.fence,
    messageIndex: row.message_index ?? undefined,
    ranMs: row.ran_ms,
    createdAt: row.created_at,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
    continuable: row.continuable === 1,
    isUnstored: row.unstored === 1,
    error: parseJson(row.error),
    log: parseJson(row.log),
  }
}

/**
 * Metrics rows per tenant and hour on Postgres; their `hour` values are one millisecond apart. With a single row, each run that ends would
 * wait until the commit of the previous run is on the disk.
 */
export const rowsPerHour = 8
