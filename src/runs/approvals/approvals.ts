import { accessTo, requireAccess, PermissionError, permits, type Principal } from '../../access/permissions.ts'
import { subOf } from '../../access/owner.ts'
import { isQuestionId } from '../../agent/approval.ts'
import type { JsonObject } from '../../agent/messages.ts'
import { actorOf, hashOf, newSalt } from '../../audit/event.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { ServiceError, invalid } from '../../errors.ts'
import { parsePosition, toOffset } from '../../json/offset.ts'
import { isAudited, targetOf, toRunEvent } from '../execution/acts.ts'
import type { RunStore } from '../run-store.ts'
import type { RunKey } from '../run.ts'
import { runKeyText } from '../ownership/run-registry.ts'
import type { ApprovalStore, ApprovalCaller, DecisionParts, NewDecision, StoredCall, CallPosition, Excerpt } from './approval-store.ts'
import { excerptLimits, toCallView, type CallView } from './approval-view.ts'
import {
  checkInput,
  checkReply,
  assertSameDecision,
  isAnswer,
  notInterrupted,
  refuseOtherKind,
  toNewDecision,
  type AnyDecision,
  type CheckAnswer,
} from './decisions.ts'
import type { InterruptedRuns } from './interrupted-runs.ts'
import type { ToRaise } from './raise-limit.ts'

/** Lists calls that wait for approval, and decides on calls. */
export interface Approvals {
  /**
   * Stores a decision and resolves with the run, which is resumed after its last missing decision. Repeating a decision changes nothing.
   * Throws `not_found`, `forbidden`, `not_interrupted`, `already_decided`, `above_tenant_budget`, `tool_not_ready` or a validation error.
   */
  decide(caller: Principal, requestId: string, decision: AnyDecision): Promise<RunKey>
  list: ListApprovals
}

export interface ApprovalsDependencies {
  store: ApprovalStore
  runStore: Pick<RunStore, 'find'>
  runs: Pick<InterruptedRuns, 'decide'>
  agent: CurrentAgent
  toRaise: ToRaise
  checkAnswer: CheckAnswer
  now(): number
  newId(): string
}

export function createApprovals({ store, runStore, runs, agent, toRaise, checkAnswer, now, newId }: ApprovalsDependencies): Approvals {
  async function decide(caller: Principal, requestId: string, requested: AnyDecision): Promise<RunKey> {
    const { callId } = requested
    requireAccess(caller, accessFor(requested))
    const call = await store.find(toApprovalCaller(caller), requestId, callId)
    if (!call) throw await whyMissing({ ...ownerOf(caller), requestId }, callId)
    if (!mayDecide(caller, call)) throw refusalFor(call)
    refuseOtherKind(call, requested)
    const more = requested.decision === 'extend' ? requested.limit : undefined
    if (more) requireAccess(caller, ['budgets.write'])
    const decision = toNewDecision(requested, caller.owner)
    if (call.decision) return assertSameDecision(call, decision)
    if (call.expiresAt <= now()) throw notInterrupted(requestId)
    if (isQuestionId(call.callId)) await checkReply(checkAnswer, call, requested)
    else await checkInput(agent, call, requested)
    const run = await runStore.find(call)
    const raise = run && more && (await toRaise(caller, call, run, more))
    const result =
      run && (await runs.decide(run, (takeOver) => store.decide(call, decision, takeOver, { raise, act: toAct(caller, call, decision) })))
    if (result) return call
    // A concurrent request has decided the call, or the run was cancelled.
    const current = await store.find(toApprovalCaller(caller), requestId, call.callId)
    if (!current?.decision) throw notInterrupted(requestId)
    return assertSameDecision(current, decision)
  }

  /** The decision of a person, for the ledger. What a client sends as the output of its tool is no decision. */
  function toAct(caller: Principal, call: StoredCall, decided: NewDecision): DecisionParts['act'] {
    const { decision } = decided
    if (!isAudited(agent()) || decision === 'output' || decision === 'error') return undefined
    const { callId, input, salt = newSalt() } = call
    const data: JsonObject = { call_id: callId, decision, asked_hash: hashOf(input, salt) }
    // The answer to a question of a server is an input of its own.
    if (decision === 'approve' && isQuestionId(callId)) data['answer_hash'] = hashOf(decided.input ?? {}, salt)
    else if (decision === 'approve') data['executed_hash'] = hashOf(decided.input ?? input, salt)
    const outcome = decision === 'reject' ? 'refused' : 'success'
    const context = { key: call, agent: agent(), now, newId }
    const event = toRunEvent(context, { action: 'approval.decided', target: targetOf(call), outcome, data })
    return { ...event, actor: actorOf(caller, caller.via ?? 'api'), salt }
  }

  async function whyMissing(key: RunKey, callId: string | undefined): Promise<ServiceError> {
    const run = await runStore.find(key)
    if (!run) return new ServiceError('not_found', `There is no run ${key.requestId}.`)
    if (run.status !== 'interrupted') return notInterrupted(key.requestId)
    if (callId === undefined) throw invalid(['body', 'tool_call_id'], 'is required: the run waits for no budget', 'missing')
    return new ServiceError('not_found', `In run ${key.requestId} no call ${callId} waits for a decision.`)
  }

  return { decide, list: createApprovalList({ store, now }) }
}

/** Permissions of which a decision needs one; the call says which. */
function accessFor({ callId, decision }: AnyDecision) {
  if (isAnswer(decision)) return accessTo.answerCall
  if (decision === 'extend' || callId === undefined) return accessTo.decideBudget
  return decision === 'approve' ? accessTo.decideCall : [...accessTo.decideCall, ...accessTo.decideBudget]
}

function toApprovalCaller(caller: Principal): ApprovalCaller {
  return { ...ownerOf(caller), mayApprove: caller.permissions.has('runs.approve'), mayRaise: caller.permissions.has('budgets.write') }
}

function ownerOf({ tenant, owner }: Principal) {
  return { tenant, owner }
}

/** True if the caller is the run's owner. Equal `sub`s count as the same person, from any issuer. */
function isOwn({ sub }: Principal, call: RunKey): boolean {
  return subOf(call) === sub
}

/**
 * The owner of the run decides calls with `by: caller`, and answers calls with `by: client`. Another person, with `runs.approve`, decides
 * calls with `by: role`. The owner, or a person with `budgets.write`, decides on a budget; only the latter may raise its limit.
 */
function mayDecide(caller: Principal, call: StoredCall): boolean {
  switch (call.by) {
    case 'caller':
      return call.owner === caller.owner && permits(caller, accessTo.decideCall)
    case 'client':
      return call.owner === caller.owner && permits(caller, accessTo.answerCall)
    case 'budget':
      return caller.permissions.has('budgets.write') || (call.owner === caller.owner && permits(caller, accessTo.decideBudget))
    case 'role':
      return !isOwn(caller, call) && caller.permissions.has('runs.approve')
  }
}

function refusalFor({ by }: StoredCall): ServiceError {
  if (by === 'client') return new PermissionError(accessTo.answerCall)
  if (by === 'budget') return new PermissionError(accessTo.decideBudget)
  if (by === 'caller') return new PermissionError(accessTo.decideCall)
  return new ServiceError(
    'forbidden',
    'RBAC: access denied: only another caller, whose key has the permission runs.approve, may decide this call.',
  )
}

/** Open calls of the caller's runs, and calls of others that the caller may decide, newest first. */
type ListApprovals = (caller: Principal, page: { limit: number; before: string | undefined }) => Promise<CallList>

interface CallList {
  approvals: CallView[]
  count: number
  /** Position of the last call, for `before` of the next page; empty for an empty page. */
  offset: string
  has_more: boolean
}

interface ApprovalListDependencies {
  store: Pick<ApprovalStore, 'list' | 'excerpts'>
  now(): number
}

function createApprovalList({ store, now }: ApprovalListDependencies): ListApprovals {
  async function excerptsOf(tenant: string, calls: readonly StoredCall[]): Promise<Map<string, Excerpt>> {
    const runs = [...new Map(calls.map((call) => [runKeyText(call), call])).values()]
    const excerpts = runs.length === 0 ? [] : await store.excerpts(tenant, runs, excerptLimits)
    return new Map(excerpts.map((excerpt) => [runKeyText(excerpt), excerpt]))
  }

  return async (caller, { limit, before }) => {
    const start = before === undefined ? undefined : (toCallPosition(before) ?? before)
    const found = await store.list(toApprovalCaller(caller), { limit: limit + 1, before: start, now: now() })
    const calls = found?.slice(0, limit)
    if (!found || !calls)
      throw invalid(
        ['query', 'before'],
        'is neither the offset of a page of this list nor the id of a call that waits or waited for approval',
      )
    const excerpts = await excerptsOf(
      caller.tenant,
      calls.filter((call) => mayRead(caller, call)),
    )
    const approvals = calls.map((call) =>
      toCallView(call, mayDecide(caller, call), mayRead(caller, call) ? excerpts.get(runKeyText(call)) : undefined),
    )
    const last = calls.at(-1)
    const offset = last ? toOffset([last.requestedAt, last.place, last.callId, last.requestId, last.owner]) : ''
    return { approvals, count: approvals.length, offset, has_more: found.length > limit }
  }
}

/** Whether the caller may read the conversation behind a call. To raise a limit, nobody needs to read what others have asked. */
function mayRead(caller: Principal, call: StoredCall): boolean {
  return mayDecide(caller, call) && (call.by !== 'budget' || call.owner === caller.owner)
}

/** Undefined for a text that is not an `offset` of this list. */
function toCallPosition(offset: string): CallPosition | undefined {
  const [requestedAt, place, ...texts] = parsePosition(offset) ?? []
  if (!Number.isSafeInteger(requestedAt) || !isPlace(place)) return undefined
  const [callId, requestId, owner, ...more] = texts.filter((text) => typeof text === 'string')
  if (callId === undefined || requestId === undefined || owner === undefined || texts.length !== 3 || more.length > 0) return undefined
  return { requestedAt: Number(requestedAt), place, callId, requestId, owner }
}

/** The column of Postgres has 32 bits. */
function isPlace(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 2 ** 31
}
