import { accessTo, requireAccess, PermissionError, permits, type Principal } from '../../access/permissions.ts'
import { subOf } from '../../access/owner.ts'
import { isQuestionId } from '../../agent/approval.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { ServiceError, invalid } from '../../errors.ts'
import { parsePosition, toOffset } from '../../json/offset.ts'
import type { RunStore } from '../run-store.ts'
import type { RunKey } from '../run.ts'
import { runKeyText } from '../ownership/run-registry.ts'
import type { ApprovalStore, ApprovalCaller, StoredCall, CallPosition, Excerpt } from './approval-store.ts'
import { excerptLimits, toCallView, type CallView } from './approval-view.ts'
import {
  checkInput,
  checkReply,
  assertSameDecision,
  isAnswer,
  notInterrupted,
  refuseOtherKind,
  toNewDecision,
  type CheckAnswer,
  type RequestedDecision,
} from './decisions.ts'
import type { InterruptedRuns } from './interrupted-runs.ts'

/** Lists calls that wait for approval, and decides on calls. */
export interface Approvals {
  /**
   * Stores a decision and resolves with the run, which is resumed after its last missing decision. Repeating a decision changes nothing.
   * Throws `not_found`, `forbidden`, `not_interrupted`, `already_decided`, `tool_not_ready` or a validation error.
   */
  decide(caller: Principal, requestId: string, decision: RequestedDecision): Promise<RunKey>
  list: ListApprovals
}

export interface ApprovalsDependencies {
  store: ApprovalStore
  runStore: Pick<RunStore, 'find'>
  runs: Pick<InterruptedRuns, 'decide'>
  agent: CurrentAgent
  checkAnswer: CheckAnswer
  now(): number
}

export function createApprovals({ store, runStore, runs, agent, checkAnswer, now }: ApprovalsDependencies): Approvals {
  async function decide(caller: Principal, requestId: string, requested: RequestedDecision): Promise<RunKey> {
    const { callId, decision: kind } = requested
    requireAccess(caller, isAnswer(kind) ? accessTo.answerCall : accessTo.decideCall)
    const call = await store.find(toApprovalCaller(caller), requestId, callId)
    if (!call) throw await whyMissing({ ...ownerOf(caller), requestId }, callId)
    if (!mayDecide(caller, call)) throw refusalFor(call)
    refuseOtherKind(call, requested)
    const decision = toNewDecision(requested, caller.owner)
    if (call.decision) return assertSameDecision(call, decision)
    if (call.expiresAt <= now()) throw notInterrupted(requestId)
    if (isQuestionId(callId)) await checkReply(checkAnswer, call, requested)
    else await checkInput(agent, call, requested)
    const run = await runStore.find(call)
    const result = run && (await runs.decide(run, (takeOver) => store.decide(call, decision, takeOver)))
    if (result) return call
    // A concurrent request has decided the call, or the run was cancelled.
    const current = await store.find(toApprovalCaller(caller), requestId, callId)
    if (!current?.decision) throw notInterrupted(requestId)
    return assertSameDecision(current, decision)
  }

  async function whyMissing(key: RunKey, callId: string): Promise<ServiceError> {
    const run = await runStore.find(key)
    if (!run) return new ServiceError('not_found', `There is no run ${key.requestId}.`)
    if (run.status !== 'interrupted') return notInterrupted(key.requestId)
    return new ServiceError('not_found', `In run ${key.requestId} no call ${callId} waits for a decision.`)
  }

  return { decide, list: createApprovalList({ store, now }) }
}

function toApprovalCaller(caller: Principal): ApprovalCaller {
  return { ...ownerOf(caller), mayApprove: caller.permissions.has('runs.approve') }
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
 * calls with `by: role`.
 */
function mayDecide(caller: Principal, call: StoredCall): boolean {
  switch (call.by) {
    case 'caller':
      return call.owner === caller.owner && permits(caller, accessTo.decideCall)
    case 'client':
      return call.owner === caller.owner && permits(caller, accessTo.answerCall)
    case 'budget':
      return caller.permissions.has('budgets.write')
    case 'role':
      return !isOwn(caller, call) && caller.permissions.has('runs.approve')
  }
}

function refusalFor({ by }: StoredCall): ServiceError {
  if (by === 'client') return new PermissionError(accessTo.answerCall)
  if (by === 'budget') return new PermissionError(['budgets.write'])
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
      calls.filter((call) => mayDecide(caller, call)),
    )
    const approvals = calls.map((call) => toCallView(call, mayDecide(caller, call), excerpts.get(runKeyText(call))))
    const last = calls.at(-1)
    const offset = last ? toOffset([last.requestedAt, last.place, last.callId, last.requestId, last.owner]) : ''
    return { approvals, count: approvals.length, offset, has_more: found.length > limit }
  }
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
