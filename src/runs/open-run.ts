import type { EventLog } from './log/event-log.ts'

/** A run to follow, live or from the store, until the signal of the follower's disconnect is aborted. */
export interface OpenRun {
  requestId: string
  sessionId: string
  input: string
  log: EventLog
  /** Resolves when the log has its last event. */
  ended: Promise<void>
  /** Present where the run waits for approval: resolves with the same run when the run was resumed or has ended. */
  whenResumed?(disconnected: AbortSignal): Promise<OpenRun>
}
