import type { DecisionKind, PendingCall } from '../../agent/approval.ts'
import type { JsonObject } from '../../agent/messages.ts'
import type { LoggedEvent } from '../run.ts'
import type { StoredRun } from '../run-store.ts'
import type { TraceRecord } from './records.ts'

/** Everything that a trace is derived from. */
export interface TraceSource {
  run: StoredRun
  events: readonly LoggedEvent[]
  records: readonly TraceRecord[]
  approvals: readonly DecidedCall[]
}

/** A tool call that waits, or has waited, for a decision; times are epoch milliseconds. */
export interface DecidedCall extends PendingCall {
  requestedAt: number
  expiresAt: number
  /** Absent while the call waits. `lapsed`: the run ended before a decision. */
  decision?: DecisionKind | 'lapsed'
  decidedAt?: number
  /** Owner (`<issuer> <sub>`) who decided. */
  decidedBy?: string
  reason?: string
  /** Arguments that the approver set in place of `input`. */
  newInput?: JsonObject
}
