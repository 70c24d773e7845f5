import type { Principal } from '../access/permissions.ts'
import type { PendingCall } from '../agent/approval.ts'
import { ServiceError } from '../errors.ts'
import type { UsageEntry } from '../sessions/message.ts'
import type { ApprovalStore } from './approvals/approval-store.ts'
import type { Approvals } from './approvals/approvals.ts'
import type { RequestedDecision } from './approvals/decisions.ts'
import { fromCompact } from './log/compact-log.ts'
import { EventLog } from './log/event-log.ts'
import type { OpenRun } from './open-run.ts'
import type { StoredRun } from './run-store.ts'
import type { LastEvent, LoggedEvent } from './run.ts'
import type { DecidedCall } from './trace/span.ts'

/** A part of a run: the events behind an interruption whose calls a client has answered, or the whole run. */
export interface RunPart {
  /** The events before the part, which the client has. The last event is the interruption. */
  before: readonly LoggedEvent[]
  /** Calls of the interruption that still wait for an answer. With such a call the run waits, and the client is sent the interruption again. */
  open: readonly PendingCall[]
}

export const wholeRun: RunPart = { before: [], open: [] }

/** Number of the last event that the client of a part is not sent again. */
export function lastReceived({ before, open }: RunPart): number {
  return open.length > 0 ? before.length - 1 : before.length
}

/** Usage of the run up to a part. */
export function usageBefore({ before }: Pick<RunPart, 'before'>): readonly UsageEntry[] {
  const last = before.at(-1)
  return last?.type === 'interrupt' ? last.usage : []
}

/** The last event for the client of a part: of an interruption, the client gets the calls that still wait. */
export function lastOfPart({ open }: RunPart, last: LastEvent): LastEvent {
  return last.type === 'interrupt' && open.length > 0 ? { ...last, calls: open } : last
}

/** The run as it was at an earlier event, which was its last event then. */
export function upToEvent(run: OpenRun, number: number): OpenRun {
  const log = new EventLog({ events: run.log.events.slice(0, number), restoredAt: run.log.restoredAt })
  const { whenResumed: _, ...rest } = run
  return { ...rest, log, ended: Promise.resolve() }
}

/** The stored events of a run. A running run has the events up to its last interruption. */
export function storedEvents({ log }: Pick<StoredRun, 'log'>): LoggedEvent[] {
  return log ? fromCompact(log.events) : []
}

export interface AnswerServices {
  approvals: Pick<Approvals, 'decide'>
  openCalls: Pick<ApprovalStore, 'ofRun'>
}

/** The answers of a client to calls of a run. */
interface Answers {
  principal: Principal
  run: StoredRun
  /** Converts the answers. `calls`: the open calls of the run, or all calls if none is open, since a client may repeat its answers. */
  toDecisions(calls: readonly DecidedCall[]): readonly RequestedDecision[]
  /** Called when the answers are read, before the first decision. `before`: the events up to the interruption that the client answers. */
  prepare?(before: readonly LoggedEvent[]): Promise<void>
}

/**
 * Decides the calls of a run by the answers of a client, and returns the part of the run behind the interruption. The run goes on after the last
 * missing answer. The same answers once more change nothing, and give the same part. Throws what `Approvals.decide` and `toDecisions` throw, and
 * `not_interrupted` for a run that never waited for the calls.
 */
export async function answerCalls(
  { approvals, openCalls }: AnswerServices,
  { principal, run, toDecisions, prepare }: Answers,
): Promise<RunPart> {
  const calls = await openCalls.ofRun(run)
  const waiting = calls.filter(isOpen)
  const decisions = toDecisions(waiting.length > 0 ? waiting : calls)
  const before = upToInterruption(storedEvents(run), new Set(decisions.map(({ callId }) => callId)))
  await prepare?.(before)
  for (const decision of decisions) await approvals.decide(principal, run.requestId, decision)
  const open = run.status === 'interrupted' ? (await openCalls.ofRun(run)).filter(isOpen) : []
  return { before, open }
}

export function isOpen({ decision }: DecidedCall): boolean {
  return decision === undefined
}

/** The events up to the last interruption with one of the calls; without calls, up to the last interruption. */
function upToInterruption(events: readonly LoggedEvent[], callIds: ReadonlySet<string>): LoggedEvent[] {
  const index = events.findLastIndex(
    (event) => event.type === 'interrupt' && (callIds.size === 0 || event.calls.some(({ callId }) => callIds.has(callId))),
  )
  if (index < 0) throw new ServiceError('not_interrupted', 'The run does not wait for these calls.')
  return events.slice(0, index + 1)
}
