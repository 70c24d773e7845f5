import type { BudgetReader } from '../budgets/refusal.ts'
import type { PhaseTimes } from '../concurrency/phase-times.ts'
import type { EventLog } from './log/event-log.ts'
import type { StoredRun } from './run-store.ts'

/** A run to follow, live or from the store, until the signal of the follower's disconnect is aborted. */
export interface OpenRun {
  requestId: string
  sessionId: string
  input: string
  /** True where the answer has a schema: the log may have answers before it that do not fit. */
  hasSchema: boolean
  log: EventLog
  /** Resolves when the log has its last event. */
  ended: Promise<void>
  /** Present where this process executes the run. */
  times?: PhaseTimes
  /** Present where the agent has budgets: what is left, for a header; as of the opening where this process does not execute the run. */
  remaining?(reader: BudgetReader): string | undefined
  /** Present where the run waits for approval: resolves with the same run when the run was resumed or has ended. */
  whenResumed?(disconnected: AbortSignal): Promise<OpenRun>
}

/** True where the answer of a stored run has a schema. Ended runs have no request any more. */
export function hasSchema({ request, log }: Pick<StoredRun, 'request' | 'log'>): boolean {
  return Boolean(request?.responseSchema) || log?.hasSchema === true
}
