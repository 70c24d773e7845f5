import type { PendingCall } from '../agent/approval.ts'
import type { AnswerFile } from '../artifacts/answer-files.ts'
import type { ErrorBody } from '../errors.ts'
import { toWaitingFields, type WaitingFields } from './approvals/approval-view.ts'
import { toCallbackView, type CallbackView } from './callbacks/callback-event.ts'
import type { StoredCallback } from './callbacks/callback-store.ts'
import type { AnswerBody } from './log/outcome.ts'
import { resultOf } from './run-result.ts'
import type { RunStatus } from './run.ts'
import type { StoredRun } from './run-store.ts'

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
    ...(run.status === 'interrupted' && open ? toWaitingFields(run.requestId, open) : {}),
  }
}

function toIso(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}
