import { subOf } from '../../access/owner.ts'
import type { EndedRun, NewMessage, NewRun } from '../../runs/run-store.ts'
import type { RunKey } from '../../runs/run.ts'
import { countOf, hourOf, json, toText } from '../rows.ts'
import { mapColumns, paramsOf, type Param } from '../statement.ts'
import type { MessageRow, MetricsRow, RunRow, RunToolRow } from '../tables.ts'

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

export function toToolRows({ tools, endedAt }: EndedRun): EndedTool[] {
  return tools.map(({ tool, calls, errors, durationsMs }) => ({
    tool,
    ended_at: endedAt,
    calls,
    errors,
    durations: JSON.stringify(durationsMs),
  }))
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
 * The amounts that an ended run adds to its hour, in the row with this number. A run that can be resumed is counted in the first row, where
 * a resume subtracts its amounts again.
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
