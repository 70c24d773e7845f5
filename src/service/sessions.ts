import type { Artifacts } from '../artifacts/artifacts.ts'
import type { Runs } from '../runs/runs.ts'
import type { Jobs } from '../runs/jobs.ts'
import { createSessionChanges, type SessionChanges, type SessionHooks } from '../sessions/session-changes.ts'
import type { SessionStore } from '../sessions/session-store.ts'

interface SessionOptions {
  store: SessionStore
  runs: Runs
  artifacts: Artifacts
  jobs: Jobs
  newId(): string
  now(): number
}

/** Wires deletion and forks of sessions. The deletion hooks run in a job, which survives a crash. */
export function openSessionChanges({ store, runs, artifacts, jobs, newId, now }: SessionOptions): SessionChanges {
  const hooks: SessionHooks[] = [
    {
      onDeleted: (_tenant, key) => artifacts.deleteAll(key),
      onForked: (_tenant, sourceKey, newKey) => artifacts.copyAll(sourceKey, newKey),
    },
  ]
  jobs.handle('session_deleted', 1, async ({ tenant, data }) => {
    for (const hook of hooks) await hook.onDeleted(tenant, data.session)
    return { kind: 'done' }
  })
  const sessionRuns = { cancel: runs.cancelSession, stopDeleted: runs.stopDeleted }
  return createSessionChanges({ store, runs: sessionRuns, hooks, wake: () => jobs.wake('session_deleted'), newId, now })
}
