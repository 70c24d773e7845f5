import type { Owner } from '../access/owner.ts'
import type { Acting } from '../audit/acts.ts'
import { ServiceError } from '../errors.ts'
import type { MemoryCache } from './memory-cache.ts'
import type { Feedback, FeedbackStore, MemoryKind, MemoryStore, Origin, StoredMemory } from './memory.ts'

export interface MemoryView {
  id: string
  content: string
  kind: MemoryKind
  /** `tool`: taken from tool output, not from the caller's own words. */
  origin: Origin
  /** `untrusted`: learned from text of strangers. */
  trust: 'trusted' | 'untrusted'
  /** The message of the last statement. */
  source: { session_id: string; message_index: number }
  created_at: string
}

export interface MemoryList {
  memories: MemoryView[]
  /** Number of memories in the list. */
  count: number
}

export interface FeedbackView {
  request_id: string
  score: number
  comment: string | null
  created_at: string
}

/** The callers' view of their memory, with changes. */
export interface Memories {
  /** Newest first, after the id `before` when given. */
  list(caller: Owner, page: { limit: number; before: string | undefined }): Promise<MemoryList>
  /** Throws `not_found` when the caller has no memory of this id. */
  delete(caller: Owner & Acting, id: string): Promise<void>
  /**
   * Throws `not_found` for another caller's run, `run_not_ended` for a run that has not ended, `gone` for a deleted
   * session.
   */
  rate(caller: Owner, feedback: Omit<Feedback, 'createdAt'>): Promise<FeedbackView>
}

interface MemoriesDependencies {
  store: MemoryStore
  feedback: FeedbackStore
  cache: MemoryCache
  now(): number
  newId(): string
  /** Wakes the workers of feedback jobs. */
  wake(): void
}

export function createMemories({ store, feedback, cache, now, newId, wake }: MemoriesDependencies): Memories {
  return {
    async list(caller, page) {
      const memories = (await store.page(caller, page)).map(toView)
      return { memories, count: memories.length }
    },

    async delete(caller, id) {
      const isDeleted = await store.delete(caller, id, caller)
      cache.invalidate(caller)
      if (!isDeleted) throw new ServiceError('not_found', `There is no memory ${id}.`)
    },

    async rate(caller, rating) {
      const { requestId, score, comment = null } = rating
      const createdAt = now()
      const outcome = await feedback.save(caller, { ...rating, createdAt }, newId())
      if (outcome === 'unknown') throw new ServiceError('not_found', `There is no run ${requestId}.`)
      if (outcome === 'gone') throw new ServiceError('gone', `The session of request ${requestId} was deleted.`)
      if (outcome === 'running') throw new ServiceError('run_not_ended', `Run ${requestId} has not ended yet.`)
      wake()
      return { request_id: requestId, score, comment, created_at: new Date(createdAt).toISOString() }
    },
  }
}

function toView({ id, content, kind, origin, trust, sources, createdAt }: StoredMemory): MemoryView {
  // Every memory has a source; a memory is deleted with its last source.
  const { sessionId = '', messageIndex = 0 } = sources[0] ?? {}
  const source = { session_id: sessionId, message_index: messageIndex }
  return { id, content, kind, origin, trust: trust ?? 'trusted', source, created_at: new Date(createdAt).toISOString() }
}
