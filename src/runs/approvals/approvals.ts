import { isDeepStrictEqual } from 'node:util'
import { accessTo, permits } from '../../access/operations.ts'
import { subOf } from '../../access/owner.ts'
import type { Principal } from '../../access/principal.ts'
import { parsePosition, toOffset } from '../../json/offset.ts'
import { isDeeper, maxJsonDepth } from '../../json/shape.ts'
import type { JsonObject } from '../../agent/messages.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { invalid, ServiceError } from '../../errors.ts'
import { runKeyText, type RunKey } from '../run.ts'
import type { RunStore } from '../run-store.ts'
import type { ApprovalStore, ApprovalCaller, CallPosition, Excerpt, StoredCall } from './approval-store.ts'
import { excerptLimits, toCallView, type CallView } from './approval-view.ts'
import type { InterruptedRuns } from './interrupted-runs.ts'

export interface RequestedDecision {
  callId: string
  decision: 'approve' | 'reject'
  /** Replaces the model's arguments; only valid with `approve`. */
  input: JsonObject | undefined
  reason: string | undefined
}

/** Lists calls that wait for approval, and decides on calls. */
export interface Approvals {
  /**
   * Stores a decision and resolves with the run, which is resumed after its last missing decision. Repeating a decision changes nothing.
   * Throws `not_found`, `forbidden`, `not_interrupted`, `already_decided`, `tool_not_ready` or a validation error.
   */
  decide(caller: Principal, requestId: string, decision: RequestedDecision): Promise<RunKey>
  /** Open calls of the caller's runs, and calls of others that the caller may decide, newest first. */
  list(caller: Principal, page: { limit: number; before: string | undefined }): Promise<CallList>
}

export interface CallList {
  approvals: CallView[]
  count: number
  /** Position of the last call, for `before` of the next page; empty for an empty page. */
  offset: string
  has_more: boolean
}

export interface ApprovalsDependencies {
  store: ApprovalStore
  runStore: Pick<RunStore, 'find'>
  runs: Pick<InterruptedRuns, 'decide'>
  agent: CurrentAgent
  now(): number
}

export function createApprovals({ store, runStore, runs, agent, now }: ApprovalsDependencies): Approvals {
  async function decide(caller: Principal, requestId: string, requested: RequestedDecision): Promise<RunKey> {
    const { callId, decision, input, reason } = requested
    const call = await store.find(toApprovalCaller(caller), requestId, callId)
    if (!call) throw await whyMissing({ ...ownerOf(caller), requestId }, callId)
    if (!mayDecide(caller, call)) throw forOthers()
    if (call.decision) return assertSameDecision(call, requested)
    if (call.expiresAt <= now()) throw notInterrupted(requestId)
    checkInput(call, requested)
    const run = await runStore.find(call)
    const newDecision = { decision, input, reason, decidedBy: caller.owner }
    const result = run && (await runs.decide(run, (takeOver) => store.decide(call, newDecision, takeOver)))
    if (result) return call
    // A concurrent request has decided the call, or the run was cancelled.
    const current = await store.find(toApprovalCaller(caller), requestId, callId)
    if (!current?.decision) throw notInterrupted(requestId)
    return assertSameDecision(current, requested)
  }

  async function whyMissing(key: RunKey, callId: string): Promise<ServiceError> {
    const run = await runStore.find(key)
    if (!run) return new ServiceError('not_found', `There is no run ${key.requestId}.`)
    if (run.status !== 'interrupted') return notInterrupted(key.requestId)
    return new ServiceError('not_found', `In run ${key.requestId} no call ${callId} waits for approval.`)
  }

  /** Checks replaced arguments with the tool's schema. */
  function checkInput({ tool: name }: StoredCall, { input }: RequestedDecision): void {
    if (!input) return
    if (isDeeper(input, maxJsonDepth)) throw invalid(['body', 'tool_input'], 'is nested too deeply')
    const listing = agent()
      .tools.list()
      .find((candidate) => candidate.name === name)
    if (!listing) throw invalid(['body', 'tool_input'], `the tool ${name} does not exist any more`)
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
    async list(caller, { limit, before }) {
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
    },
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

/** The owner of the run decides calls with `by: caller`. Another person, with `runs.approve`, decides calls with `by: role`. */
function mayDecide(caller: Principal, call: StoredCall): boolean {
  if (call.by === 'caller') return call.owner === caller.owner && permits(caller, accessTo.decideCall)
  return !isOwn(caller, call) && caller.permissions.has('runs.approve')
}

function forOthers(): ServiceError {
  return new ServiceError(
    'forbidden',
    'RBAC: access denied: only another caller, whose key has the permission runs.approve, may decide this call.',
  )
}

/** Accepts a repetition of the stored decision. Throws `already_decided` for a different decision. */
function assertSameDecision(call: StoredCall, { decision, input }: RequestedDecision): RunKey {
  if (call.decision === 'lapsed') throw notInterrupted(call.requestId)
  const isSame = call.decision === decision && isDeepStrictEqual(input ?? call.input, call.newInput ?? call.input)
  if (isSame) return call
  throw new ServiceError('already_decided', `The call ${call.callId} was already decided: ${call.decision}.`)
}

function notInterrupted(requestId: string): ServiceError {
  return new ServiceError('not_interrupted', `Run ${requestId} does not wait for approval.`)
}
