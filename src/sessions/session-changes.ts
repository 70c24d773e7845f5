import type { Owner } from '../access/owner.ts'
import { isAdmin, type Principal } from '../access/permissions.ts'
import type { AuditReads } from '../audit/reads.ts'
import { invalid, ServiceError } from '../errors.ts'
import { sessionExists } from './conversations.ts'
import type { SessionStore } from './session-store.ts'

/** Deletes and forks sessions. */
export interface SessionChanges {
  /**
   * Cancels the session's runs and deletes all data of the session. Throws `not_found` unless the session is the
   * caller's own.
   */
  remove(principal: Principal, sessionId: string): Promise<void>
  /**
   * Deletes a message with all that belongs to it. Later messages keep their places. Throws `not_found` unless the session is the caller's own and has
   * the message, and `session_busy` while a run has the session.
   */
  removeMessage(principal: Principal, sessionId: string, index: number): Promise<void>
  /**
   * Creates a session of the caller with the messages before `messageIndex`; returns the new id, which is `forkId` if given. Throws `session_exists`
   * where the caller has a session of this id.
   */
  fork(principal: Principal, sessionId: string, messageIndex: number, forkId?: string): Promise<string>
}

/** Hooks for data stored under a session's key by other parts. Each hook must be idempotent. */
export interface SessionHooks {
  /** Called after a deletion, and repeated until the hook succeeds, also across crashes. */
  onDeleted(tenant: string, key: string): Promise<void>
  /** Called after the deletion of a message, with the ids of its files, and repeated as `onDeleted` is. */
  onFilesDeleted(tenant: string, key: string, files: readonly string[]): Promise<void>
  /** Called before a fork becomes visible. When the fork fails, `onDeleted` is called for the new key. */
  onForked(tenant: string, sourceKey: string, newKey: string): Promise<void>
}

/** Port: the runs of a session that this process can reach. */
interface SessionRuns {
  /** Cancels the runs; resolves when they have ended, or after a few seconds. */
  cancel(caller: Owner, sessionId: string): Promise<void>
  /** Stops runs that continue after the session was deleted. */
  stopDeleted(caller: Owner, sessionId: string): Promise<void>
}

interface SessionChangesDependencies {
  store: SessionStore
  reads: Pick<AuditReads, 'read'>
  runs: SessionRuns
  hooks: readonly SessionHooks[]
  /** Wakes the workers of the deletion job. */
  wake(): void
  /** The name of a session in lists, from its first question. */
  nameOf(question: string): string
  newId(): string
  now(): number
}

export function createSessionChanges({ store, reads, runs, hooks, wake, nameOf, newId, now }: SessionChangesDependencies): SessionChanges {
  return {
    async remove(principal, sessionId) {
      const session = await store.find(principal, sessionId, { anyOwner: false })
      if (!session) throw unknown(sessionId)
      await runs.cancel(principal, sessionId)
      const isRemoved = await store.remove(principal, sessionId, { jobId: newId(), now: now(), acting: principal })
      if (!isRemoved) throw unknown(sessionId)
      wake()
      await runs.stopDeleted(principal, sessionId)
    },

    async removeMessage(principal, sessionId, index) {
      const session = await store.find(principal, sessionId, { anyOwner: false })
      if (!session) throw unknown(sessionId)
      const deletion = { index, nameOf, checkpointId: newId(), jobId: newId(), now: now(), acting: principal }
      if (!(await store.removeMessage(session, deletion)))
        throw new ServiceError('not_found', `The session ${sessionId} has no message ${index}.`)
      wake()
    },

    async fork(principal, sessionId, messageIndex, forkId = newId()) {
      const source = await store.find(principal, sessionId, { anyOwner: isAdmin(principal) })
      if (!source) throw unknown(sessionId)
      if (messageIndex > source.messageCount) throw tooFar(source.messageCount)
      if (source.owner !== principal.owner) await reads.read(principal, `session:${sessionId}`)
      const { tenant, owner } = principal
      const fork = { tenant, owner, sessionId: forkId, key: newId(), checkpointId: newId(), messageIndex, now: now() }
      try {
        for (const hook of hooks) await hook.onForked(tenant, source.key, fork.key)
        const forked = await store.fork(source, fork)
        if (forked === 'unknown') throw unknown(sessionId)
        if (forked === 'too_far') throw tooFar(messageIndex - 1)
        if (forked === 'taken') throw sessionExists(forkId)
      } catch (error) {
        // Data that cannot be removed now only takes up space: no caller can reach it.
        await Promise.allSettled(hooks.map((hook) => hook.onDeleted(tenant, fork.key)))
        throw error
      }
      return fork.sessionId
    },
  }
}

function unknown(sessionId: string): ServiceError {
  return new ServiceError('not_found', `There is no session ${sessionId}.`)
}

function tooFar(maxIndex: number): ServiceError {
  return invalid(['body', 'message_index'], `must be at most ${maxIndex}, the number of the session's messages`)
}
