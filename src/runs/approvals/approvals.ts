import { isDeepStrictEqual } from 'node:util'
import { accessTo, permits } from '../../access/operations.ts'
import { subOf } from '../../access/owner.ts'
import type { Principal } from '../../access/principal.ts'
import { isDeeper, maxJsonDepth } from '../../agent/json-depth.ts'
import type { JsonObject } from '../../agent/messages.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { invalid, ServiceError } from '../../errors.ts'
import { runKeyText, type RunKey } from '../run.ts'
import type { RunStore } from '../run-store.ts'
import type { ApprovalStore, Asker, Excerpt, StoredCall } from './approval-store.ts'
import { excerptLimits, toCallView, type CallView } from './approval-view.ts'
import type { InterruptedRuns } from './interrupted-runs.ts'

export interface GivenDecision {
  callId: string
  decision: 'approve' | 'reject'
  /** In place of what the model asked for; only where it is approved. */
  input: JsonObject | undefined
  reason: string | undefined
}

/** What callers decide on calls that wait for approval. */
export interface Approvals {
  /** Resolves with the run when the decision is stored; it goes on when it was the last. The same decision again changes nothing. */
  decide(who: Principal, requestId: string, given: GivenDecision): Promise<RunKey>
  /** Open calls of the caller's runs, and calls of others that the caller may decide, newest first. */
  list(who: Principal, page: { limit: number; before: string | undefined }): Promise<{ approvals: CallView[]; count: number }>
}

export interface ApprovalsDependencies {
  store: ApprovalStore
  runs: Pick<RunStore, 'find'>
  chats: Pick<InterruptedRuns, 'decide'>
  agent: CurrentAgent
  now(): number
}

export function createApprovals({ store, runs, chats, agent, now }: ApprovalsDependencies): Approvals {
  async function decide(who: Principal, requestId: string, given: GivenDecision): Promise<RunKey> {
    const call = await store.find(toAsker(who), requestId, given.callId)
    if (!call) throw await whyMissing({ ...ownerOf(who), requestId }, given.callId)
    if (!mayDecide(who, call)) throw forOthers()
    if (call.decision) return settled(call, given)
    if (call.expiresAt <= now()) throw notInterrupted(requestId)
    checkInput(call, given)
    const run = await runs.find(call)
    const { decision, input, reason } = given
    const write = { decision, input, reason, decidedBy: who.owner }
    const decided = run && (await chats.decide(run, (by) => store.decide(call, write, by)))
    if (decided) return call
    // Somebody else was faster.
    const found = await store.find(toAsker(who), requestId, given.callId)
    if (!found?.decision) throw notInterrupted(requestId)
    return settled(found, given)
  }

  async function whyMissing(key: RunKey, callId: string): Promise<ServiceError> {
    const run = await runs.find(key)
    if (!run) return new ServiceError('not_found', `There is no run ${key.requestId}.`)
    if (run.status !== 'interrupted') return notInterrupted(key.requestId)
    return new ServiceError('not_found', `In run ${key.requestId} no call ${callId} waits for approval.`)
  }

  /** As the tool itself checks what it is called with. */
  function checkInput({ tool: name }: StoredCall, { input }: GivenDecision): void {
    if (!input) return
    if (isDeeper(input, maxJsonDepth)) throw invalid(['body', 'tool_input'], 'is nested too deeply')
    const listing = agent()
      .tools.list()
      .find((one) => one.name === name)
    if (!listing) throw invalid(['body', 'tool_input'], `there is no tool ${name} any more`)
    if (!listing.tool) throw new ServiceError('tool_not_ready', `The tool ${name} is not ready: ${listing.reason ?? listing.status}`)
    const fault = listing.tool.check(input)
    if (fault) throw invalid(['body', 'tool_input'], fault)
  }

  async function excerptsOf(tenant: string, calls: readonly StoredCall[]): Promise<Map<string, Excerpt>> {
    const runs = [...new Map(calls.map((call) => [runKeyText(call), call])).values()]
    const excerpts = runs.length === 0 ? [] : await store.excerpts(tenant, runs, excerptLimits)
    return new Map(excerpts.map((excerpt) => [runKeyText(excerpt), excerpt]))
  }

  return {
    decide,
    async list(who, { limit, before }) {
      const calls = await store.list(toAsker(who), { limit, before, now: now() })
      if (!calls) throw invalid(['query', 'before'], 'is no call that waits for approval, or waited for it')
      const excerpts = await excerptsOf(
        who.tenant,
        calls.filter((call) => mayDecide(who, call)),
      )
      const approvals = calls.map((call) => toCallView(call, mayDecide(who, call), excerpts.get(runKeyText(call))))
      return { approvals, count: approvals.length }
    },
  }
}

function toAsker(who: Principal): Asker {
  return { ...ownerOf(who), mayApprove: who.permissions.has('runs.approve') }
}

function ownerOf({ tenant, owner }: Principal) {
  return { tenant, owner }
}

/** Whoever bears the same name is the same person, whichever issuer says so. */
function isOwn({ sub }: Principal, call: RunKey): boolean {
  return subOf(call) === sub
}

/** Owners decide their own calls, approvers those of others: never the own ones where the tool says `by: role`. */
function mayDecide(who: Principal, call: StoredCall): boolean {
  if (call.by === 'caller') return call.owner === who.owner && permits(who, accessTo.decideCall)
  return !isOwn(who, call) && who.permissions.has('runs.approve')
}

function forOthers(): ServiceError {
  return new ServiceError(
    'forbidden',
    'RBAC: access denied: only another caller, whose key has the permission runs.approve, may decide this call.',
  )
}

/** The same decision again is as good as the first. */
function settled(call: StoredCall, { decision, input }: GivenDecision): RunKey {
  if (call.decision === 'lapsed') throw notInterrupted(call.requestId)
  const isSame = call.decision === decision && isDeepStrictEqual(input ?? call.input, call.newInput ?? call.input)
  if (isSame) return call
  throw new ServiceError('already_decided', `The call ${call.callId} was decided before: ${call.decision}.`)
}

function notInterrupted(requestId: string): ServiceError {
  return new ServiceError('not_interrupted', `Run ${requestId} does not wait for approval.`)
}
