import type { Owner } from '../access/owner.ts'
import { isAdmin, type Principal } from '../access/principal.ts'
import { invalid, ServiceError } from '../errors.ts'
import type { SessionStore } from './session-store.ts'

/** Sessions deleted and forked. */
export interface SessionChanges {
  /** Cancels the session's runs and deletes all that belongs to it. The caller's own alone: `not_found` else. */
  remove(principal: Principal, sessionId: string): Promise<void>
  /** A new session of the caller with the messages before `messageIndex`; answers with its id. */
  fork(who: Principal, sessionId: string, messageIndex: number): Promise<string>
}

/** What others keep under a session's key. Each must bear being told twice. */
export interface SessionHooks {
  /** The session is gone: told until it succeeds, also when the process dies in between. */
  onDeleted(tenant: string, key: string): Promise<void>
  /** A session will be made of another one: before it can be seen. Where it is not made after all, it is told as deleted. */
  onForked(tenant: string, from: string, to: string): Promise<void>
}

/** Port: the runs of a session, as far as this process can reach them. */
export interface SessionRuns {
  /** Cancels them, and resolves when they have ended or do not within a few seconds. */
  cancel(who: Owner, sessionId: string): Promise<void>
  /** Stops what goes on although the session is gone. */
  stopGone(who: Owner, sessionId: string): Promise<void>
}

export interface SessionChangesDependencies {
  store: SessionStore
  runs: SessionRuns
  hooks: readonly SessionHooks[]
  /** Something was promised in the store that can be done now. */
  wake(): void
  newId(): string
  now(): number
}

export function createSessionChanges({ store, runs, hooks, wake, newId, now }: SessionChangesDependencies): SessionChanges {
  return {
    async remove(who, sessionId) {
      const own = await store.find(who, sessionId, { anyOwner: false })
      if (!own) throw unknown(sessionId)
      await runs.cancel(who, sessionId)
      const isRemoved = await store.remove(who, sessionId, { jobId: newId(), now: now() })
      if (!isRemoved) throw unknown(sessionId)
      wake()
      await runs.stopGone(who, sessionId)
    },

    async fork(who, sessionId, messageIndex) {
      const source = await store.find(who, sessionId, { anyOwner: isAdmin(who) })
      if (!source) throw unknown(sessionId)
      if (messageIndex > source.messageCount) throw tooFar(source.messageCount)
      const { tenant, owner } = who
      const fork = { tenant, owner, sessionId: newId(), key: newId(), checkpointId: newId(), messageIndex, now: now() }
      try {
        for (const hook of hooks) await hook.onForked(tenant, source.key, fork.key)
        const forked = await store.fork(source, fork)
        if (forked === 'unknown') throw unknown(sessionId)
        if (forked === 'too_far') throw tooFar(messageIndex - 1)
      } catch (error) {
        // What can't be taken back now takes up room, and nobody can reach it.
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

function tooFar(most: number): ServiceError {
  return invalid(['body', 'message_index'], `must be at most ${most}, the number of the session's messages`)
}
