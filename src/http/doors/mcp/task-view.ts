import { RELATED_TASK_META_KEY, type Task } from '@modelcontextprotocol/server'
import type { PendingCall } from '../../../agent/approval.ts'
import { toWaitingText } from '../../../runs/approvals/approval-view.ts'
import type { ListedRunView } from '../../../runs/list/run-list.ts'
import type { RunStatus } from '../../../runs/run.ts'
import type { StoredRun } from '../../../runs/run-store.ts'
import { toRunView } from '../../../runs/run-view.ts'
import type { Era } from './client.ts'

/** The state of a task; each revision has its own names for the times. A task is a run with the request id as its id. */
export interface TaskState {
  taskId: string
  status: Task['status']
  statusMessage?: string
  createdAt: string
  lastUpdatedAt: string
  /** Milliseconds for which the task exists after its creation, at least; null without an end. */
  ttlMs: number | null
}

/** Interval in which clients should ask for the state. */
const pollMs = 1000

/** Revision 2026-07-28: an error of a tool is a result, so that its task is completed; only errors of the protocol fail. */
const statesOfEra: Record<Era, Record<RunStatus, Task['status']>> = {
  legacy: {
    pending: 'working',
    running: 'working',
    interrupted: 'input_required',
    success: 'completed',
    error: 'failed',
    timeout: 'failed',
    cancelled: 'cancelled',
  },
  modern: {
    pending: 'working',
    running: 'working',
    interrupted: 'input_required',
    success: 'completed',
    error: 'completed',
    timeout: 'completed',
    cancelled: 'cancelled',
  },
}

interface ViewOptions {
  era: Era
  ttlMs: number | null
  /** Undecided calls of the run, and whether the client can decide them. */
  waiting: { calls: readonly PendingCall[]; isForClient: boolean }
}

export function toTaskState(run: StoredRun, { era, ttlMs, waiting }: ViewOptions): TaskState {
  const { created_at, started_at, ended_at, status, error } = toRunView(run)
  const message = status === 'interrupted' ? toWaitingText(run.requestId, waiting.calls) : error?.body
  return {
    taskId: run.requestId,
    // A task that waits for somebody else is at work as far as its client is concerned.
    status: status === 'interrupted' && !waiting.isForClient ? 'working' : statesOfEra[era][status],
    ...(message !== undefined && { statusMessage: message }),
    createdAt: created_at,
    lastUpdatedAt: ended_at ?? started_at ?? created_at,
    ttlMs,
  }
}

/** The state of a listed run, for legacy clients: revision 2026-07-28 has no list of tasks. */
export function toListedTask(run: ListedRunView, ttlMs: number | null): Task {
  const { request_id, status, created_at, started_at, ended_at } = run
  return toLegacyTask({
    taskId: request_id,
    status: statesOfEra.legacy[status],
    createdAt: created_at,
    lastUpdatedAt: ended_at ?? started_at ?? created_at,
    ttlMs,
  })
}

export function toLegacyTask({ ttlMs, ...task }: TaskState): Task {
  return { ...task, ttl: ttlMs, pollInterval: pollMs }
}

export function toModernTask(task: TaskState) {
  return { ...task, pollIntervalMs: pollMs }
}

/** The entry of `_meta` that names the task of a message (2025-11-25). */
export function relatedTask(taskId: string) {
  return { [RELATED_TASK_META_KEY]: { taskId } }
}
