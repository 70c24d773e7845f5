import type { PendingCall } from '../agent/approval.ts'
import type { AnswerFile } from '../artifacts/answer-files.ts'
import { type ErrorBody, ServiceError } from '../errors.ts'
import { toWaitingFields, type WaitingFields } from './approvals/approval-view.ts'
import { toCallbackView, type CallbackView } from './callbacks/callbacks.ts'
import type { StoredCallback } from './callbacks/attempt.ts'
import { type AnswerBody, resultOf } from './log/outcome.ts'
import type { RunStatus, RunKey } from './run.ts'
import type { StoredRun, RunStore } from './run-store.ts'
import { isAdmin, ownerOf, type Principal } from '../access/permissions.ts'

/** A run as shown to its caller. While the run is interrupted, the undecided calls are part of the view. */
export interface RunView extends WaitingFields {
  request_id: string
  session_id: string
  status: RunStatus
  created_at: string
  started_at: string | null
  ended_at: string | null
  outcome?: AnswerBody
  error?: ErrorBody
  callback?: CallbackView
  /** The run whose undelivered message the run answers; absent without such a message. */
  continues?: string
}

/** Values of a run view that are not part of the stored run. */
interface RunViewExtras {
  callback?: StoredCallback | undefined
  /** Undecided calls. */
  open?: readonly PendingCall[] | undefined
  /** Files of the outcome. */
  files?: readonly AnswerFile[]
}

export function toRunView(run: StoredRun, { callback, open, files = [] }: RunViewExtras = {}): RunView {
  const { outcome, error } = run.endedAt === undefined ? {} : resultOf(run)
  return {
    ...toSharedView(run, open),
    ...(outcome && !error ? { outcome: { ...outcome.answer, generated_artifacts: files } } : {}),
    ...(error ? { error } : {}),
    ...(callback ? { callback: toCallbackView(callback) } : {}),
  }
}

/** The state of a run without content, for approvers and for keys without the permission to read runs. */
export function toSharedView(run: StoredRun, open?: readonly PendingCall[]): RunView {
  return {
    request_id: run.requestId,
    session_id: run.sessionId,
    status: run.status,
    created_at: new Date(run.createdAt).toISOString(),
    started_at: toIso(run.status === 'pending' ? undefined : run.startedAt),
    ended_at: toIso(run.endedAt),
    ...(run.continues === undefined ? {} : { continues: run.continues }),
    ...(run.status === 'interrupted' && open ? toWaitingFields(run.requestId, open) : {}),
  }
}

function toIso(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}

/** A run as named by a request. `issuer` and `sub` identify the owner, where the caller names an owner. */
export interface NamedRun {
  requestId: string
  issuer: string | undefined
  sub: string | undefined
}

/**
 * Resolves to the key of a named run. Administrators reach every run of the tenant: an own run first, otherwise the only match, otherwise
 * `ambiguous_run`. Other callers reach only own runs and get `not_found` for all others. The existence of an own run is not checked.
 */
export type FindRunKey = (principal: Principal, run: NamedRun) => Promise<RunKey>

export function createFindRunKey(store: Pick<RunStore, 'ownersOf'>): FindRunKey {
  return async (principal, { requestId, issuer, sub }) => {
    const { tenant, owner } = principal
    const namedOwner = ownerOf(issuer ?? principal.issuer, sub ?? principal.sub)
    if (!isAdmin(principal)) {
      if (namedOwner !== owner) throw noRun(requestId)
      return { tenant, owner, requestId }
    }
    if (issuer !== undefined && sub !== undefined) return { tenant, owner: namedOwner, requestId }
    const [first, second] = await store.ownersOf({ tenant, owner, requestId }, { issuer, sub })
    if (first === undefined) throw noRun(requestId)
    if (first !== owner && second !== undefined) throw ambiguous(requestId)
    return { tenant, owner: first, requestId }
  }
}

function noRun(requestId: string): ServiceError {
  return new ServiceError('not_found', `There is no run ${requestId}.`)
}

function ambiguous(requestId: string): ServiceError {
  return new ServiceError(
    'ambiguous_run',
    `Several callers have a run ${requestId}: name the owner of the run by the parameters issuer and sub.`,
  )
}
