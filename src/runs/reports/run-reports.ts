import type { ErrorBody } from '../../errors.ts'
import type { EndedStatus } from '../run.ts'

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
