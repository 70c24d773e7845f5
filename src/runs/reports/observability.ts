import type { Owner } from '../../access/owner.ts'
import { invalid } from '../../errors.ts'
import type { EndedStatus } from '../run.ts'
import type { EndedRunRecord, RunReports, RunSums, Span } from './run-reports.ts'

/** Latencies in seconds; 0 where there is no run. */
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
  /** JSON text of the list. */
  data: string
  total: number
  has_more: boolean
}

/** As a caller gives it: epoch milliseconds or seconds; 0: no bound. */
export interface AskedSpan {
  start_timestamp: number
  end_timestamp: number
}

export interface AskedLogs extends AskedSpan {
  run_id?: string | undefined
  limit: number
  offset: number
}

/** What the runs of a tenant came to. */
export interface Observability {
  metrics(who: Owner, asked: AskedSpan): Promise<MetricsView>
  logs(who: Owner, asked: AskedLogs): Promise<LogsView>
}

export function createObservability(reports: RunReports): Observability {
  return {
    async metrics({ tenant }, asked) {
      return toMetricsView(await reports.sums(tenant, toSpan(asked)))
    },

    async logs({ tenant }, asked) {
      const span = toSpan(asked)
      const { run_id: requestId, limit, offset } = asked
      if (requestId !== undefined) {
        const found = await reports.named(tenant, requestId, span)
        return toLogsView(found.slice(offset, offset + limit), found.length, offset)
      }
      // The count first: a run that ends in between is not missed as one more.
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

/** Anything less was in milliseconds in March 1973: it is meant in seconds. */
const secondsBelow = 1e11

function toSpan({ start_timestamp: start, end_timestamp: end }: AskedSpan): Span {
  const from = start === 0 ? undefined : start < secondsBelow ? start * 1000 : start
  // A second is meant as a whole.
  const to = end === 0 ? undefined : end < secondsBelow ? end * 1000 + 999 : end
  if (from !== undefined && to !== undefined && to < from) throw invalid(['query', 'end_timestamp'], 'is before start_timestamp')
  return { from, to }
}
