import type { DecisionKind, PendingCall } from '../../agent/approval.ts'
import type { JsonObject } from '../../agent/messages.ts'
import type { StoredRun } from '../run-store.ts'
import type { LoggedEvent } from '../run.ts'
import type { TraceRecord, ModelRecord } from './recorder.ts'

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

/**
 * Adds the model call that another process is making: its record is stored only when the call has ended. The run's own agent asks its model
 * whenever none of its steps is open.
 */
export function withOpenCall(
  events: readonly LoggedEvent[],
  records: TraceSource['records'],
  { startedAt, createdAt }: StoredRun,
): Pick<TraceSource, 'events' | 'records'> {
  const calls = records.filter((record): record is ModelRecord => record.type === 'model')
  const newest = calls.findLast(({ callId }) => callId === undefined)
  const ends = new Map(events.flatMap((event) => (event.type === 'step_end' ? [[event.step.id, event.step]] : [])))
  const isCalling = (newest?.calls ?? []).some((callId) => !ends.has(callId))
  if (isCalling) return { events, records }
  const endOf = (callId: string) => (ends.get(callId)?.startedAt ?? 0) + (ends.get(callId)?.durationMs ?? 0)
  const lastEnd = Math.max(newest?.endedAt ?? startedAt ?? createdAt, ...(newest?.calls ?? []).map(endOf))
  const from = events.findLastIndex(isOwnStep) + 1
  const n = Math.max(0, ...calls.map((call) => call.n)) + 1
  return { events, records: [...records, { type: 'model', n, from, startedAt: lastEnd }] }
}

/** False for the steps of the provider, which are inside of a model call. */
function isOwnStep(event: LoggedEvent): boolean {
  return (event.type === 'step_start' || event.type === 'step_end') && !event.step.isOfProvider
}
