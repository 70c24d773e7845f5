import { ServiceError } from '../../errors.ts'
import type { ApprovalStore } from '../../runs/approvals/approval-store.ts'
import type { Approvals } from '../../runs/approvals/approvals.ts'
import type { RequestedDecision } from '../../runs/approvals/decisions.ts'
import type { SessionRuns } from '../../runs/list/session-runs.ts'
import type { EventLog } from '../../runs/log/event-log.ts'
import type { LoggedEvent } from '../../runs/run.ts'
import type { DecidedCall } from '../../runs/trace/source.ts'
import { principalOf } from '../server/authenticate.ts'
import { followRun, type Exchange, type OpenChat, type ReaderServices } from '../reader.ts'

/** Services of doors whose clients answer the calls of an interrupted run with a further chat request. */
export interface ContinueServices extends ReaderServices {
  approvals: Pick<Approvals, 'decide'>
  openCalls: Pick<ApprovalStore, 'ofRun'>
  sessionRuns: SessionRuns
}

/** What the client of a resumed run has. */
export interface ResumedRun {
  /** The events that the client has: up to the interruption, or up to the event before while calls are left. */
  passed: readonly LoggedEvent[]
  /** Ids of calls that the caller has yet to answer. The run waits, so its last event is the interruption. */
  left: ReadonlySet<string>
}

/** An interrupted run whose calls were answered. */
export interface Continuation extends ResumedRun {
  chat: OpenChat
}

interface ContinueOptions extends Exchange {
  /** The session of the interrupted run. */
  sessionId: string
  /** Converts the answers of the request to decisions. `calls`: the open calls of the run, or all of them if none is open. */
  toDecisions(calls: readonly DecidedCall[]): RequestedDecision[]
}

/**
 * Applies the answers of a request to the run of its session that waits, and opens the rest of the run. A repeat of answers is accepted. Throws
 * what `Approvals.decide` throws, and `not_interrupted` if no run waits.
 */
export async function continueRun(
  services: ContinueServices,
  { request, reply, sessionId, toDecisions }: ContinueOptions,
): Promise<Continuation> {
  const { approvals, openCalls, sessionRuns } = services
  const principal = principalOf(request)
  const waiting = await sessionRuns.newest(principal, sessionId, 'interrupted')
  const run = waiting ?? (await sessionRuns.newest(principal, sessionId))
  if (!run) throw new ServiceError('not_interrupted', `No run of the session ${sessionId} waits.`)
  const key = { tenant: principal.tenant, owner: principal.owner, requestId: run.requestId }
  const calls = await openCalls.ofRun(key)
  const open = calls.filter(isOpen)
  const decisions = toDecisions(open.length > 0 ? open : calls)
  for (const decision of decisions) await approvals.decide(principal, key.requestId, decision)
  const others = (await openCalls.ofRun(key)).filter((call) => isOpen(call) && call.by !== 'role')
  const left = new Set(others.map(({ callId }) => callId))
  const chat = await followRun(services, { request, reply }, key)
  const { log, requestId } = chat.run
  void reply.header('request-id', requestId)
  const number = await interruptionOf(log, new Set(decisions.map(({ callId }) => callId)), chat.disconnected)
  const after = left.size > 0 ? number - 1 : number
  return { chat, passed: log.events.slice(0, after), left }
}

function isOpen({ decision }: DecidedCall): boolean {
  return decision === undefined
}

/** The number of the last interruption, with one of the calls if there are any. The log of a run in another process arrives in pieces. */
async function interruptionOf(log: EventLog, callIds: ReadonlySet<string>, disconnected: AbortSignal): Promise<number> {
  const isMatch = (event: LoggedEvent) =>
    event.type === 'interrupt' && (callIds.size === 0 || event.calls.some(({ callId }) => callIds.has(callId)))
  for await (const { first, events } of log.follow(0, disconnected)) {
    const index = events.findLastIndex(isMatch)
    if (index >= 0) return first + index
  }
  throw new ServiceError('not_interrupted', 'The run does not wait for these calls.')
}
