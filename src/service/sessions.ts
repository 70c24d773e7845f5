import type { LedgerKeys } from '../audit/heads.ts'
import type { Artifacts } from '../artifacts/artifacts.ts'
import type { AuditReads } from '../audit/reads.ts'
import { nameOf } from '../runs/intake/open.ts'
import type { Jobs } from '../runs/jobs.ts'
import type { Runs } from '../runs/runs.ts'
import { createConversations } from '../sessions/conversations.ts'
import { createSessionChanges } from '../sessions/session-changes.ts'
import type { SessionStore } from '../sessions/session-store.ts'
import { createSessions } from '../sessions/sessions.ts'
import type { Database } from '../store/database.ts'
import { createConversationStore } from '../store/sessions/conversations.ts'
import type { Logger } from 'pino'
import type { CurrentAgent } from '../configuration/agent.ts'
import { prune, type ExpiredItems } from '../runs/retention.ts'
import type { Settings } from '../settings/settings.ts'
import { createUnstoredRuns } from '../store/runs/unstored.ts'
import { createRetentionStore } from '../store/sessions/retention.ts'

interface SessionOptions {
  database: Database
  auditReads: AuditReads
  store: SessionStore
  runs: Runs
  artifacts: Artifacts
  jobs: Jobs
  newId(): string
  now(): number
}

/** Wires sessions. What follows a deletion runs in a job, which survives a crash. */
export function openSessions({ database, auditReads: reads, store, runs, artifacts, jobs, newId, now }: SessionOptions) {
  const files = {
    onDeleted: (_tenant: string, key: string) => artifacts.deleteAll(key),
    onFilesDeleted: (_tenant: string, key: string, ids: readonly string[]) => artifacts.delete(key, ids),
    onForked: (_tenant: string, sourceKey: string, newKey: string) => artifacts.copyAll(sourceKey, newKey),
  }
  jobs.handle('session_deleted', 1, async ({ tenant, data }) => {
    await (data.files ? files.onFilesDeleted(tenant, data.session, data.files) : files.onDeleted(tenant, data.session))
    return { kind: 'done' }
  })
  const sessionRuns = { cancel: runs.cancelSession, stopDeleted: runs.stopDeleted }
  const wake = () => jobs.wake('session_deleted')
  return {
    sessionStore: store,
    sessions: createSessions(store, reads),
    changes: createSessionChanges({ store, reads, runs: sessionRuns, hooks: [files], wake, nameOf, newId, now }),
    conversations: createConversations({ store: createConversationStore(database), sessions: store, nameOf, newId, now }),
  }
}

interface Expiring {
  /** Removes at most about `limit` expired rows in a transaction; resolves with their number. */
  removeExpired(now: number, limit: number): Promise<number>
}

interface RetentionOptions {
  agent: CurrentAgent
  database: Database
  /** Stores whose rows have an expiry of their own, beside unstored runs. */
  expiring: readonly Expiring[]
  /** The signing keys of the service: what is removed from the ledger is signed. */
  signing: LedgerKeys
  jobs: Jobs
  settings: Settings
  now(): number
  sleep(ms: number): Promise<void>
  log: Logger
}

const pruneEveryMs = 3_600_000
/** Rows with an expiry of their own are found by one index lookup, so they are removed more often. */
const expireEveryMs = 300_000
/** Delay of the first run: a start has more urgent work. */
const firstMs = 60_000
/** Time limit of one job; another process may continue afterwards. */
const limitMs = 60_000
const againMs = 1000
/** Rows with an expiry of their own, removed in one transaction. */
const expiredBatch = 500
const expiredPauseMs = 50
/** Pause factor: pruning takes at most a fifth of the time. */
const restFactor = 4

/** Prunes old data in a single process at a time, through a permanent job. */
export async function keepPruned({ agent, database, jobs, settings, expiring, signing, now, sleep, log }: RetentionOptions): Promise<void> {
  const onBroken = (tenant: string, fault: string) =>
    log.error({ tenant, fault }, 'The audit ledger was changed: no events of it are removed')
  const store = createRetentionStore(database, { keys: signing, now, onBroken })
  const expiringStores = [...expiring, createUnstoredRuns(database)]
  const onRemoved = (things: ExpiredItems) => log.info(things, 'retention')
  let nextPrune = 0
  jobs.handle('retention', 1, async (_job, signal) => {
    try {
      for (const store of expiringStores)
        while (!signal.aborted && (await store.removeExpired(now(), expiredBatch)) > 0) await sleep(expiredPauseMs)
      if (now() < nextPrune) return { kind: 'again', at: now() + expireEveryMs }
      const { retention } = agent().config
      const isDone = await prune({ store, retention, now, sleep, restFactor, signal, limitMs, onRemoved })
      if (isDone) nextPrune = now() + pruneEveryMs
      return { kind: 'again', at: now() + (isDone ? expireEveryMs : againMs) }
    } catch (err) {
      log.error({ err }, 'retention')
      return { kind: 'again', at: now() + expireEveryMs }
    }
  })
  await jobs.add([{ id: 'retention', kind: 'retention', tenant: settings.adminTenant, data: {}, dueAt: now() + firstMs }])
}
