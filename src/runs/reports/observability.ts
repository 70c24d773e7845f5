import type { Owner } from '../../access/owner.ts'
import { invalid, type ErrorBody } from '../../errors.ts'
import type { EndedStatus } from '../run.ts'
import {
  type SeriesStore,
  readSeries,
  readToolMetrics,
  type SeriesQuery,
  type SeriesView,
  type ToolMetricsQuery,
  type ToolMetricsView,
} from './series.ts'

/** Port: reports on the ended runs of one tenant. Direct tool executions are not counted as runs. */
export interface RunReports {
  /** Sums over all hours that overlap the span; partial hours count in full. */
  sums(tenant: string, span: Span): Promise<RunSums>
  /** A page of ended runs, newest first. */
  ended(tenant: string, page: ReportPage): Promise<EndedRunRecord[]>
  count(tenant: string, span: Span): Promise<number>
  /** Ended runs with this request id. Each caller of the tenant may have used the id once. */
  withRequestId(tenant: string, requestId: string, span: Span): Promise<EndedRunRecord[]>
}

/** Selects runs by end time. Bounds are inclusive, in epoch milliseconds; undefined means no bound. */
export interface Span {
  from: number | undefined
  to: number | undefined
}

export interface ReportPage extends Span {
  limit: number
  offset: number
}

/** Latencies are in milliseconds, and 0 when there is no run. */
export interface RunSums {
  counts: Record<EndedStatus, number>
  promptTokens: number
  completionTokens: number
  totalTokens: number
  latencyMs: number
  minLatencyMs: number
  maxLatencyMs: number
}

export interface EndedRunRecord {
  requestId: string
  agent: string
  model: string
  status: string
  error: ErrorBody | undefined
  latencyMs: number
  endedAt: number
  completionTokens: number
  totalTokens: number
}

/** Sums over ended runs. Latencies are in seconds, and 0 when there is no run. */
export interface MetricsView {
  status_value_counts: Record<EndedStatus, number>
  total_requests: number
  total_errors: number
  total_tokens: number
  mean_tokens: number
  mean_latency: number
  max_latency: number
  min_latency: number
  total_prompt_tokens: number
  mean_prompt_tokens: number
  total_completion_tokens: number
  mean_completion_tokens: number
}

export interface LogsView {
  /** The list of runs as JSON text. */
  data: string
  total: number
  has_more: boolean
}

/** Time range of a request, in epoch milliseconds or seconds; 0 means no bound. */
export interface RequestedSpan {
  start_timestamp: number
  end_timestamp: number
}

export interface LogsQuery extends RequestedSpan {
  run_id?: string | undefined
  limit: number
  offset: number
}

/** Metrics and logs of a tenant's ended runs. */
export interface Observability {
  metrics(caller: Owner, query: RequestedSpan): Promise<MetricsView>
  logs(caller: Owner, query: LogsQuery): Promise<LogsView>
  tools(caller: Owner, query: ToolMetricsQuery): Promise<ToolMetricsView>
  series(caller: Owner, query: SeriesQuery): Promise<SeriesView>
}

interface ObservabilityDependencies {
  reports: RunReports
  series: SeriesStore
  now(): number
}

export function createObservability({ reports, series, now }: ObservabilityDependencies): Observability {
  return {
    async metrics({ tenant }, query) {
      return toMetricsView(await reports.sums(tenant, toSpan(query)))
    },

    tools: (caller, query) => readToolMetrics(series, caller, query, now()),
    series: (caller, query) => readSeries(series, caller, query, now()),

    async logs({ tenant }, query) {
      const span = toSpan(query)
      const { run_id: requestId, limit, offset } = query
      if (requestId !== undefined) {
        const runs = await reports.withRequestId(tenant, requestId, span)
        return toLogsView(runs.slice(offset, offset + limit), runs.length, offset)
      }
      // Count before reading the page: otherwise a run that ends in between would set `has_more` after a complete page.
      const total = await reports.count(tenant, span)
      return toLogsView(await reports.ended(tenant, { ...span, limit, offset }), total, offset)
    },
  }
}

function toMetricsView(sums: RunSums): MetricsView {
  const { counts, promptTokens, completionTokens, totalTokens, latencyMs, minLatencyMs, maxLatencyMs } = sums
  const runs = counts.success + counts.error + counts.cancelled + counts.timeout
  const mean = (sum: number) => (runs === 0 ? 0 : sum / runs)
  return {
    status_value_counts: counts,
    total_requests: runs,
    total_errors: counts.error,
    total_tokens: totalTokens,
    mean_tokens: mean(totalTokens),
    mean_latency: mean(latencyMs) / 1000,
    max_latency: maxLatencyMs / 1000,
    min_latency: minLatencyMs / 1000,
    total_prompt_tokens: promptTokens,
    mean_prompt_tokens: mean(promptTokens),
    total_completion_tokens: completionTokens,
    mean_completion_tokens: mean(completionTokens),
  }
}

function toLogsView(page: readonly EndedRunRecord[], total: number, offset: number): LogsView {
  return { data: JSON.stringify(page.map(toEntry)), total, has_more: offset + page.length < total }
}

function toEntry(run: EndedRunRecord) {
  return {
    name: run.agent,
    id: run.requestId,
    model: run.model,
    error: run.error?.body ?? null,
    status: run.status,
    latency: run.latencyMs / 1000,
    end_time: run.endedAt,
    completion_tokens: run.completionTokens,
    total_tokens: run.totalTokens,
  }
}

/** Smaller timestamps are seconds: as milliseconds, every smaller value would lie before March 1973. */
const secondsBelow = 1e11

function toSpan({ start_timestamp: start, end_timestamp: end }: RequestedSpan): Span {
  const startMs = start === 0 ? undefined : start < secondsBelow ? start * 1000 : start
  // An end in seconds includes the whole second.
  const endMs = end === 0 ? undefined : end < secondsBelow ? end * 1000 + 999 : end
  if (startMs !== undefined && endMs !== undefined && endMs < startMs) {
    throw invalid(['query', 'end_timestamp'], 'is before start_timestamp')
  }
  return { from: startMs, to: endMs }
}
