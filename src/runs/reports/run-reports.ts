import type { ErrorBody } from '../../errors.ts'
import type { EndedStatus } from '../run.ts'

/** Port: what ended runs come to. Every function answers for one tenant; executions of tools outside of a conversation are no runs. */
export interface RunReports {
  /** Sums over whole hours. */
  sums(tenant: string, span: Span): Promise<RunSums>
  /** Ended runs, the newest first. */
  ended(tenant: string, page: ReportPage): Promise<EndedRunRecord[]>
  count(tenant: string, span: Span): Promise<number>
  /** Those of this request id: each caller of the tenant may have one. */
  named(tenant: string, requestId: string, span: Span): Promise<EndedRunRecord[]>
}

/** By the end of a run, epoch milliseconds, both ends included; undefined: no bound. */
export interface Span {
  from: number | undefined
  to: number | undefined
}

export interface ReportPage extends Span {
  limit: number
  offset: number
}

/** Latencies are 0 where there is no run. */
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
