import type { Principal } from '../../../access/principal.ts'
import type { PendingCall } from '../../../agent/approval.ts'
import { invalid, ServiceError, type Fault } from '../../../errors.ts'
import type { ApprovalStore } from '../../../runs/approvals/approval-store.ts'
import type { Approvals } from '../../../runs/approvals/approvals.ts'
import { fromCompact } from '../../../runs/log/compact-log.ts'
import type { InterruptEvent, RunKey } from '../../../runs/run.ts'
import type { RunStore } from '../../../runs/run-store.ts'
import type { UsageEntry } from '../../../sessions/message.ts'
import { followRun, type Exchange, type Opening, type ReaderServices } from '../../reader.ts'
import { isId, setSessionId } from '../../server/request-headers.ts'
import type { ToolOutput } from './completion-messages.ts'
import { toCallId } from './tool-calls.ts'

export interface AnswerServices {
  approvals: Pick<Approvals, 'decide'>
  openCalls: Pick<ApprovalStore, 'clientCalls' | 'openOf'>
  runStore: Pick<RunStore, 'find'>
}

/** The run that the outputs of a request belong to, and the place where the answer to the request begins. */
export interface AnsweredRun {
  key: RunKey
  sessionId: string
  /** Number of the interruption that the outputs answer, from 1. */
  interruption: number
  /** Number of its event. */
  after: number
  /** Usage up to the interruption. */
  usage: UsageEntry[]
  /** Calls that still wait for the approval of a person; empty if the run goes on. */
  open: readonly PendingCall[]
}

/** Codes of refusals after which outputs count as history: the run does not wait for them any more, or has other outputs. */
const pastCodes = new Set(['already_decided', 'not_interrupted', 'not_found', 'gone'])

/**
 * Gives outputs to the caller's run that waits for them. The same outputs once more find the same run. Undefined if the outputs are history: of
 * another service, or of a run that has expired. Throws a validation error if a waiting call of the run has no output.
 */
export async function answerRun(
  { approvals, openCalls, runStore }: AnswerServices,
  principal: Principal,
  outputs: readonly ToolOutput[],
  at: Fault['loc'],
): Promise<AnsweredRun | undefined> {
  const calls = await openCalls.clientCalls(
    principal,
    outputs.map(({ callId }) => callId),
  )
  const [first] = calls
  if (!first || calls.length < outputs.length || calls.some(({ requestId }) => requestId !== first.requestId)) return undefined
  const { tenant, owner, requestId } = first
  const key = { tenant, owner, requestId }
  try {
    const run = await runStore.find(key)
    const place = run?.log && placeOf(fromCompact(run.log.events), first.callId)
    if (!run || !place) return undefined
    if (run.status === 'interrupted') refuseMissing(await openCalls.openOf(key), outputs, at)
    for (const { callId, output } of outputs) await approvals.decide(principal, requestId, { callId, decision: 'output', output })
    const open = run.status === 'interrupted' ? await openCalls.openOf(key) : []
    return { key, sessionId: run.sessionId, ...place, open }
  } catch (error) {
    if (error instanceof ServiceError && pastCodes.has(error.code)) return undefined
    throw error
  }
}

/** Follows the run that the outputs of the request have resumed. */
export function openAnswered(services: ReaderServices, { request, reply }: Exchange, { key, sessionId }: AnsweredRun): Opening {
  setSessionId(request, reply, sessionId)
  if (!isId(request.headers['request-id'])) void reply.header('request-id', key.requestId)
  return { chat: followRun(services, { request, reply }, key) }
}

/** The interruption with the call; undefined if the log does not have it. */
function placeOf(
  events: ReturnType<typeof fromCompact>,
  callId: string,
): Pick<AnsweredRun, 'interruption' | 'after' | 'usage'> | undefined {
  const isOfCall = (event: (typeof events)[number]): event is InterruptEvent =>
    event.type === 'interrupt' && event.calls.some((call) => call.callId === callId)
  const index = events.findIndex(isOfCall)
  const event = events[index]
  if (event?.type !== 'interrupt') return undefined
  const interruption = events.slice(0, index + 1).filter(({ type }) => type === 'interrupt').length
  return { interruption, after: index + 1, usage: event.usage }
}

function refuseMissing(open: readonly PendingCall[], outputs: readonly ToolOutput[], at: Fault['loc']): void {
  const answered = new Set(outputs.map(({ callId }) => callId))
  const missing = open.filter(({ by, callId }) => by === 'client' && !answered.has(callId)).map(({ callId }) => toCallId(callId))
  if (missing.length > 0) throw invalid(at, `each tool call needs its output; missing: ${missing.join(', ')}`)
}
