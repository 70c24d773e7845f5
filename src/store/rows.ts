import { subOf } from '../access/owner.ts'
import type { EndedRun, NewRun, RunningSummary, StoredRun, Turn } from '../runs/run-store.ts'
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

/** The columns of a new run that only the list of runs reads. */
export function toListedRow(run: NewRun) {
  return { sub: subOf(run), input: toText(run.input), config_version: run.configVersion }
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

export function toEndedRow(key: RunKey, fence: number, ended: EndedRun) {
  return {
    ...key,
    fence,
    status: ended.status,
    finish_reason: ended.finishReason,
    continuable: ended.continuable ? 1 : 0,
    // The request is kept only while the run can be resumed.
    request: ended.continuable ? JSON.stringify(ended.request) : null,
    model: ended.model,
    prompt_tokens: ended.promptTokens,
    completion_tokens: ended.completionTokens,
    total_tokens: ended.promptTokens + ended.completionTokens,
    latency_ms: ended.latencyMs,
    ended_at: ended.endedAt,
    error: json(ended.error),
    log: json(ended.log),
    config_version: ended.configVersion,
    cost: ended.cost ?? null,
    tool_errors: ended.tools.reduce((sum, { errors }) => sum + errors, 0) || null,
  }
}

/** The tools of an ended run. */
export function toToolRows({ tools, endedAt }: EndedRun) {
  return tools.map(({ tool, calls, errors, durationsMs }) => ({
    tool,
    ended_at: endedAt,
    calls,
    errors,
    durations: JSON.stringify(durationsMs),
  }))
}

/**
 * The amounts that an ended run adds to its hour, in the row with this number. A run that can be resumed is counted in the first row, where
 * a resume subtracts its amounts again.
 */
export function toMetrics(tenant: string, ended: EndedRun, row: number) {
  return {
    ...countOf(ended.status),
    tenant,
    hour: hourOf(ended.endedAt) + (ended.continuable ? 0 : row),
    prompt_tokens: ended.promptTokens,
    completion_tokens: ended.completionTokens,
    total_tokens: ended.promptTokens + ended.completionTokens,
    latency_ms: ended.latencyMs,
  }
}

/**
 * Metrics rows per tenant and hour on Postgres; their `hour` values are one millisecond apart. With a single row, each run that ends would
 * wait until the commit of the previous run is on the disk.
 */
export const rowsPerHour = 8
