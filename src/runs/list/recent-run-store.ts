import type { Owner } from '../../access/owner.ts'
import type { RunStatus } from '../run.ts'
import type { StoredRun } from '../run-store.ts'

/**
 * Port: the runs of one caller, last changed first. A run changes when it is accepted, starts, waits for decisions, and ends. Direct tool
 * executions and removed runs are left out.
 */
export interface RecentRunStore {
  list(caller: Owner, page: RecentPage): Promise<RecentRun[]>
  /** Number of runs that match the filters, at most `maxCounted`. */
  count(caller: Owner, filters: RecentFilters): Promise<number>
}

/** Counting is bounded, because a caller may have millions of runs. */
export const maxCounted = 10_000

/** Undefined filters select every run. */
export interface RecentFilters {
  statuses: readonly RunStatus[] | undefined
  sessionId: string | undefined
  /** Runs that changed at this time or later, in epoch milliseconds. */
  changedSince: number | undefined
}

export interface RecentPage extends RecentFilters {
  limit: number
  /** The last run of the page before. */
  before: RecentPosition | undefined
}

export interface RecentPosition {
  /** Epoch milliseconds. */
  changedAt: number
  requestId: string
}

export interface RecentRun extends RecentPosition {
  run: StoredRun
}
