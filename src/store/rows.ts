import type { ToolUse } from '../runs/reports/series.ts'
import type { RunningSummary, StoredRun, Turn, EndedRun, NewMessage, NewRun } from '../runs/run-store.ts'
import type { EndedStatus, Operation, RunKey, RunStatus } from '../runs/run.ts'
import type { RunRow, SessionRow, MessageRow, MetricsRow, RunToolRow } from './tables.ts'
import { subOf } from '../access/owner.ts'
import { mapColumns, paramsOf, type Param } from './database.ts'

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
  return { success: 0, error: 0, cancelled: 0, timeout: 0, [status as EndedStatus]: 1 }
}

export function toWindow({ window_start, summary }: Pick<SessionRow, 'window_start' | 'summary'>): Pick<Turn, 'windowStart' | 'summary'> {
  return { windowStart: window_start, ...(summary === null ? {} : { summary: JSON.parse(summary) as RunningSummary }) }
}

/** False for a direct tool execution, which shares the table of runs. */
export function isChat({ operation }: Pick<RunRow, 'operation'>): boolean {
  return operation !== 'tool_execute'
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
    ...(row.open_messages ? { openMessages: row.open_messages } : {}),
    ...(row.continues ? { continues: row.continues } : {}),
    ...(row.config_version === null ? {} : { configVersion: row.config_version }),
    error: parseJson(row.error),
    log: parseJson(row.log),
  }
}

/**
 * Metrics rows per tenant and hour on Postgres; their `hour` values are one millisecond apart. With a single row, each run that ends would
 * wait until the commit of the previous run is on the disk.
 */
export const rowsPerHour = 8

/** What a chat stores, described once: each way to begin and to end a chat takes its columns from here. */

export type ColumnType = 'text' | 'integer' | 'bigint' | 'boolean' | 'double precision'

type ColumnsOf<Row> = Partial<Record<keyof Row, ColumnType>>

/** The columns of a new run, without the tenant and the `NewPlace`. */
export const newRunColumns = {
  owner: 'text',
  request_id: 'text',
  session_id: 'text',
  operation: 'text',
  body_hash: 'text',
  request: 'text',
  on_disconnect: 'text',
  holder: 'text',
  place: 'bigint',
  agent: 'text',
  sub: 'text',
  input: 'text',
  config_version: 'text',
  created_at: 'bigint',
  started_at: 'bigint',
} as const satisfies ColumnsOf<RunRow>

/** The columns that have the same value in every new run. */
export const newRunConstants = {
  fence: 1,
  model: '',
  continuable: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  latency_ms: 0,
  ran_ms: 0,
} as const satisfies Partial<RunRow>

/** The columns that depend on the state of the session. */
type NewPlace = Pick<RunRow, 'session' | 'status' | 'message_index'>
export type NewRunColumns = Pick<RunRow, 'tenant' | keyof typeof newRunColumns>
export type NewRunRow = NewRunColumns & NewPlace

export function toNewRunRow(run: NewRun): NewRunColumns {
  return {
    tenant: run.tenant,
    owner: run.owner,
    request_id: run.requestId,
    session_id: run.sessionId,
    operation: run.operation,
    body_hash: run.bodyHash,
    request: JSON.stringify(run.request),
    on_disconnect: run.onDisconnect,
    holder: run.holder,
    place: run.queueOrder,
    agent: run.agent,
    sub: subOf(run),
    input: toText(run.input),
    config_version: run.configVersion,
    created_at: run.now,
    started_at: run.now,
  }
}

/** The values of a new run, without the `NewPlace`. */
export function newRunValues(param: Param<NewRunColumns>) {
  return { tenant: param('tenant'), ...paramsOf(param, newRunColumns), ...newRunConstants }
}

/** True when a run has no event, images, files, notifications, condition or several messages, and is stored for longer than a retry. */
export function isSimpleBegin({ messages, event, images, files, notifications, afterMessages, rejectsBusy, unstored }: NewRun): boolean {
  return messages.length === 1 && !event && !images && !files && !notifications && afterMessages === undefined && !rejectsBusy && !unstored
}

/** The columns that the end of a run sets, beside `error`: the metrics of a run have a column of that name too. */
export const endedRunColumns = {
  status: 'text',
  finish_reason: 'text',
  continuable: 'integer',
  request: 'text',
  model: 'text',
  prompt_tokens: 'bigint',
  completion_tokens: 'bigint',
  total_tokens: 'bigint',
  latency_ms: 'bigint',
  ended_at: 'bigint',
  log: 'text',
  config_version: 'text',
  cost: 'double precision',
  tool_errors: 'integer',
} as const satisfies ColumnsOf<RunRow>

export type EndedRunRow = Pick<RunRow, keyof typeof endedRunColumns>
/** An ended run, found by its key and fence. */
export type RunEnd = EndedRunRow & RunKey & { fence: number }

export function toEndedRow(ended: EndedRun): EndedRunRow {
  return {
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
    log: json(ended.log),
    config_version: ended.configVersion,
    cost: ended.cost ?? null,
    tool_errors: ended.tools.reduce((sum, { errors }) => sum + errors, 0) || null,
  }
}

export function endedRunValues(param: Param<EndedRunRow>) {
  return paramsOf(param, endedRunColumns)
}

export const messageColumns = { role: 'text', content: 'text', message_at: 'bigint', data: 'text' } as const

/** The columns of a message, without its position in the session. `message_at` is the column `created_at`, which a run has too. */
export type MessageColumns = Pick<MessageRow, 'role' | 'content' | 'data'> & { message_at: number }

export function toMessageRow({ role, content, createdAt, data }: NewMessage): MessageColumns {
  return { role, content: toText(content), message_at: createdAt, data: json(data) }
}

/** The calls of a tool in an ended run; other columns of `run_tools` repeat columns of the run. */
export const toolColumns = {
  tool: 'text',
  ended_at: 'bigint',
  calls: 'integer',
  errors: 'integer',
  durations: 'text',
} as const satisfies ColumnsOf<RunToolRow>

export type EndedTool = Pick<RunToolRow, 'tool' | 'calls' | 'errors'> & { ended_at: number; durations: string }

export function toToolRow({ tool, calls, errors, durationsMs }: ToolUse, endedAt: number): EndedTool {
  return { tool, ended_at: endedAt, calls, errors, durations: JSON.stringify(durationsMs) }
}

/** The answer of a run that ends without an error, jobs, files and result images; undefined for any other end. */
export function simpleAnswer({ message, error, jobs, dropsResultImages, acts }: EndedRun): NewMessage | undefined {
  return error || jobs.length > 0 || message?.data?.artifacts || dropsResultImages || acts ? undefined : message
}

/** The sums of an hour. */
export const metricsColumns = {
  success: 'bigint',
  error: 'bigint',
  cancelled: 'bigint',
  timeout: 'bigint',
  prompt_tokens: 'bigint',
  completion_tokens: 'bigint',
  total_tokens: 'bigint',
  latency_ms: 'bigint',
} as const satisfies ColumnsOf<MetricsRow>

export type NewMetrics = Record<'hour' | keyof typeof metricsColumns, number> & { tenant: string }

/**
 * The amounts that an ended run adds to the hour, in row number `row`. A run that can be resumed is counted in the first row, where a
 * resume subtracts the amounts again.
 */
export function toMetrics(tenant: string, ended: EndedRun, row: number): NewMetrics {
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

export function metricsValues(param: Param<NewMetrics>) {
  const extremes = { min_latency_ms: param('latency_ms'), max_latency_ms: param('latency_ms') }
  return { tenant: param('tenant'), hour: param('hour'), ...paramsOf(param, metricsColumns), ...extremes }
}

const noRuns = 'metrics.success + metrics.error + metrics.cancelled + metrics.timeout = 0'

/** The SQL by which an hour that has a row takes up an ended run, or a group of ended runs. */
export const metricsSums: Readonly<Record<keyof typeof metricsColumns | 'min_latency_ms' | 'max_latency_ms', string>> = {
  ...mapColumns(metricsColumns, (name) => `metrics.${name} + excluded.${name}`),
  min_latency_ms: extremeOf('min_latency_ms', '<'),
  max_latency_ms: extremeOf('max_latency_ms', '>'),
}

/** An hour without counted runs (all were resumed) takes its extremes from the next run. */
function extremeOf(column: string, is: '<' | '>'): string {
  return `case when excluded.${column} ${is} metrics.${column} or ${noRuns} then excluded.${column} else metrics.${column} end`
}
