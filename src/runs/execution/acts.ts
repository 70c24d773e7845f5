import { issuerOf, subOf } from '../../access/owner.ts'
import { isQuestionId, type PendingCall } from '../../agent/approval.ts'
import type { ApprovedStartEvent, CallOutcome, ResultEvent, StartedWrite, TurnEvent } from '../../agent/events.ts'
import type { JsonObject, TaintSource } from '../../agent/messages.ts'
import { hashOf, newSalt, type AuditAction, type AuditEvent, type AuditOutcome } from '../../audit/event.ts'
import type { Agent } from '../../configuration/agent.ts'
import type { RunKey } from '../run.ts'
import type { LapsedCall, OpenCall, RunActs } from '../run-store.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import type { ExecutionPorts } from './ports.ts'

/**
 * Acts of runs, for the ledger. The start of a `write` call is stored with the commit before the call, and the end with the commit of the
 * result. A call with a start and no end was cut off: the next commit that finds the call so says `tool.unknown`.
 */

/** What the acts of a run have in common. */
export interface ActContext extends Pick<ExecutionPorts, 'now' | 'newId'> {
  key: RunKey
  agent: { version?: string | undefined }
}

/** What a run knows of its calls in the ledger. */
export interface LedgerProgress {
  /** Calls that may have a start in the ledger and no end: started in this process, or before. */
  openCalls?: Map<string, 'here' | 'before'>
  /** Acts of results whose commit failed. The next checkpoint stores the results, and with them the acts. */
  unrecorded?: RunActs | undefined
}

interface RunAct {
  action: AuditAction
  target: string
  /** Default: `success`. */
  outcome?: AuditOutcome
  data: JsonObject
  salt?: string
}

/** The event of an act that a run does for its owner. */
export function toRunEvent({ key, agent, now, newId }: ActContext, { outcome = 'success', ...act }: RunAct): AuditEvent {
  return {
    id: newId(),
    at: now(),
    actor: { issuer: issuerOf(key), sub: subOf(key), via: 'run' },
    outcome,
    run: { owner: key.owner, requestId: key.requestId },
    ...(agent.version !== undefined && { configVersion: agent.version }),
    ...act,
  }
}

export function isAudited({ config }: Pick<Agent, 'config'>): boolean {
  return config.audit.enabled
}

/** The start of a `write` call. */
export function toStarted(context: ActContext, { callId, tool, input }: StartedWrite, salt = newSalt()): AuditEvent {
  const data = { call_id: callId, input_hash: hashOf(input, salt) }
  return toRunEvent(context, { action: 'tool.started', target: targetOf({ tool }), data, salt })
}

/** The end of an executed call. */
export function toEnded(context: ActContext, call: OpenCall, outcome: CallOutcome): AuditEvent {
  if (outcome === 'unknown') return toUnknown(context, call)
  return toRunEvent(context, { action: 'tool.ended', target: call.target, outcome, data: { call_id: call.callId } })
}

/** A call that was cut off, and is not repeated. */
export function toUnknown(context: ActContext, { callId, target }: OpenCall): AuditEvent {
  return toRunEvent(context, { action: 'tool.unknown', target, outcome: 'unknown', data: { call_id: callId } })
}

export function targetOf({ tool, by }: { tool: string; by?: PendingCall['by'] }): string {
  return by === 'budget' ? `budget:${tool}` : `tool:${tool}`
}

/** The acts of a turn or of a result; undefined for none. */
export function actsOf(event: TurnEvent | ResultEvent, run: LiveRun, progress: LedgerProgress, deps: ExecutionPorts): RunActs | undefined {
  const { starts } = event
  const ended = event.type === 'result' ? event : undefined
  const openIn = ended && progress.openCalls?.get(ended.message.callId)
  if (!starts && !openIn && !ended?.refusedFor) return undefined
  if (!isAudited(run.agent)) return undefined
  if (starts) keepOpen(progress, starts.callId)
  const context = { ...deps, key: run.key, agent: run.agent }
  const others = () => [
    ...(ended?.refusedFor ? [toRefused(context, ended, ended.refusedFor)] : []),
    ...(starts ? [toStarted(context, starts)] : []),
  ]
  if (!ended || !openIn) return others()
  const { callId } = ended.message
  const outcome = (ended.effect === 'write' && ended.executed) || 'unknown'
  if (openIn === 'here') return [toEnded(context, { callId, target: targetOf(ended.step) }, outcome), ...others()]
  return (open) => [...open.filter((call) => call.callId === callId).map((call) => toEnded(context, call, outcome)), ...others()]
}

/**
 * The part of the acts of a result that holds when their commit has failed: the next call was not started. The database may have the commit
 * although the process was told otherwise, so a call that has an end there gets no second end.
 */
export function actsAfterFailure(acts: RunActs): RunActs {
  return (open) => {
    const events = typeof acts === 'function' ? acts(open) : acts
    const isOpen = (id: unknown) => open.some(({ callId }) => callId === id)
    return events.filter(({ action, data }) => (isEnd(action) ? isOpen(data?.['call_id']) : action !== 'tool.started'))
  }
}

function isEnd(action: AuditAction): boolean {
  return action === 'tool.ended' || action === 'tool.unknown'
}

/** All acts, in order. */
export function joinActs(...all: readonly (RunActs | undefined)[]): RunActs {
  return (open) => all.flatMap((acts = []) => (typeof acts === 'function' ? acts(open) : acts))
}

function keepOpen(progress: LedgerProgress, callId: string): void {
  progress.openCalls ??= new Map()
  progress.openCalls.set(callId, 'here')
}

/** The start of an approved call, with the salt of the approval, so that the hashes of both can be compared. */
export function actsOfApproved(
  event: ApprovedStartEvent,
  run: LiveRun,
  progress: LedgerProgress,
  deps: ExecutionPorts,
): RunActs | undefined {
  if (!isAudited(run.agent)) return undefined
  keepOpen(progress, event.callId)
  return [toStarted({ ...deps, key: run.key, agent: run.agent }, event, event.salt)]
}

/** The end of a run with open calls, perhaps: calls with a start and no end do not go on. */
export function actsAtEnd(run: LiveRun, deps: ExecutionPorts): RunActs | undefined {
  if (!isAudited(run.agent)) return undefined
  const context = { ...deps, key: run.key, agent: run.agent }
  return (open) => open.map((call) => toUnknown(context, call))
}

/** Calls that begin to wait for a person, each with the salt of its hashes. Calls of client tools are no approvals. */
export function toAsked(calls: readonly PendingCall[], run: LiveRun, deps: ExecutionPorts) {
  if (!isAudited(run.agent)) return { calls }
  const context = { ...deps, key: run.key, agent: run.agent }
  const salted = calls.map((call) => (call.by === 'client' ? call : { ...call, salt: newSalt() }))
  const acts = salted.flatMap((call) => {
    if (!('salt' in call)) return []
    const { callId, by, input, salt } = call
    const data = { call_id: callId, by, input_hash: hashOf(input, salt), ...(isQuestionId(callId) && { is_question: true }) }
    return toRunEvent(context, { action: 'approval.asked', target: targetOf(call), data, salt })
  })
  return { calls: salted, acts }
}

/** A call that the end of its run has decided. */
export function toLapsed(context: ActContext, call: LapsedCall): AuditEvent {
  const data = { call_id: call.callId, decision: 'lapsed' }
  return toRunEvent(context, { action: 'approval.decided', target: targetOf(call), outcome: 'refused', data })
}

function toRefused(context: ActContext, { message, step }: ResultEvent, refusedFor: readonly TaintSource[]): AuditEvent {
  const salt = newSalt()
  const sources = refusedFor.slice(0, maxSources).map(({ tool, callId }) => ({ tool, call_id: callId ?? null }))
  const data = { call_id: message.callId, input_hash: hashOf(step.input, salt), sources }
  return toRunEvent(context, { action: 'containment.refused', target: targetOf(step), outcome: 'refused', data, salt })
}

const maxSources = 20
