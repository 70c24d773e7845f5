import { accessTo, requireAccess } from '../../access/operations.ts'
import type { Principal } from '../../access/principal.ts'
import { isQuestionId } from '../../agent/suspension.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { ServiceError } from '../../errors.ts'
import type { RunKey } from '../run.ts'
import type { RunStore } from '../run-store.ts'
import { createApprovalList, type ListApprovals } from './approval-list.ts'
import type { ApprovalStore } from './approval-store.ts'
import { checkInput, checkReply, type CheckAnswer } from './decided-input.ts'
import { mayDecide, ownerOf, refusalFor, toApprovalCaller } from './deciders.ts'
import { assertSameDecision, isAnswer, notInterrupted, refuseOtherKind, toNewDecision, type RequestedDecision } from './decisions.ts'
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
