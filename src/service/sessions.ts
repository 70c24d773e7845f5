import type { Artifacts } from '../artifacts/artifacts.ts'
import { nameOf } from '../runs/intake/open.ts'
import type { Jobs } from '../runs/jobs.ts'
import type { Runs } from '../runs/runs.ts'
import { createConversations } from '../sessions/conversations.ts'
import { createSessionChanges } from '../sessions/session-changes.ts'
import type { SessionStore } from '../sessions/session-store.ts'
import { createSessions } from '../sessions/sessions.ts'
import type { Database } from '../store/database.ts'
import { createConversationStore } from '../store/sessions/conversations.ts'

interface SessionOptions {
  database: Database
  store: SessionStore
  runs: Runs
  artifacts: Artifacts
  jobs: Jobs
  newId(): string
  now(): number
}

/** Wires sessions. What follows a deletion runs in a job, which survives a crash. */
export function openSessions({ database, store, runs, artifacts, jobs, newId, now }: SessionOptions) {
  const files = {
    onDeleted: (_tenant: string, key: string) => artifacts.deleteAll(key),
    onForked: (_tenant: string, sourceKey: string, newKey: string) => artifacts.copyAll(sourceKey, newKey),
  }
  jobs.handle('session_deleted', 1, async ({ tenant, data }) => {
    await files.onDeleted(tenant, data.session)
    return { kind: 'done' }
  })
  const sessionRuns = { cancel: runs.cancelSession, stopDeleted: runs.stopDeleted }
  const wake = () => jobs.wake('session_deleted')
  return {
    sessionStore: store,
    sessions: createSessions(store),
    changes: createSessionChanges({ store, runs: sessionRuns, hooks: [files], wake, newId, now }),
    conversations: createConversations({ store: createConversationStore(database), nameOf, newId, now }),
  }
}
