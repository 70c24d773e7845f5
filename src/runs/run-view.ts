import type { ErrorBody } from '../errors.ts'
import { fromCompact } from './compact-log.ts'
import { collect, errorOf, gaveUpWaiting, type Answer } from './outcome.ts'
import type { RunStatus } from './run.ts'
import type { StoredRun } from './run-store.ts'

/** A run as its caller reads it. */
export interface RunView {
  request_id: string
  session_id: string
  status: RunStatus
  created_at: string
  started_at: string | null
  ended_at: string | null
  outcome?: Answer
  error?: ErrorBody
}

export function toRunView(run: StoredRun): RunView {
  const { log } = run
  const outcome = log && log.events.length > 0 ? collect(log.input, fromCompact(log.events)) : undefined
  const end = outcome?.end ?? (run.status === 'error' ? gaveUpWaiting : undefined)
  const error = run.error ?? (end && errorOf(end))
  return {
    request_id: run.requestId,
    session_id: run.sessionId,
    status: run.status,
    created_at: new Date(run.createdAt).toISOString(),
    started_at: toIso(run.status === 'pending' ? undefined : run.startedAt),
    ended_at: toIso(run.endedAt),
    ...(outcome && !error ? { outcome: outcome.answer } : {}),
    ...(error ? { error } : {}),
  }
}

function toIso(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}
