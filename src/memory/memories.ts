import type { Owner } from '../access/owner.ts'
import { ServiceError } from '../errors.ts'
import type { MemoryCache } from './memory-cache.ts'
import type { Feedback, FeedbackStore, MemoryStore, StoredMemory } from './memory-store.ts'
import type { MemoryKind, Origin } from './memory.ts'

export interface MemoryView {
  id: string
  content: string
  kind: MemoryKind
  /** `tool`: noted from what a tool gave, not the caller's own word. */
  origin: Origin
  /** Where it was said last. */
  source: { session_id: string; message_index: number }
  created_at: string
}

export interface MemoryList {
  memories: MemoryView[]
  /** Of those in the list. */
  count: number
}

export interface FeedbackView {
  request_id: string
  score: number
  comment: string | null
  created_at: string
}

/** What callers see of their memory, and how they change it. */
export interface Memories {
  /** Newest first, behind the id `before` where given. */
  list(caller: Owner, page: { limit: number; before: string | undefined }): Promise<MemoryList>
  /** `not_found` where the caller has none of this id. */
  delete(caller: Owner, id: string): Promise<void>
  /** `not_found` for another's run, `run_not_ended` for one that goes on, `gone` where its session was deleted. */
  rate(caller: Owner, feedback: Omit<Feedback, 'createdAt'>): Promise<FeedbackView>
}

interface MemoriesDependencies {
  store: MemoryStore
  feedback: FeedbackStore
  cache: MemoryCache
  now(): number
  newId(): string
  /** Something is to be learned. */
  wake(): void
}

export function createMemories({ store, feedback, cache, now, newId, wake }: MemoriesDependencies): Memories {
  return {
    async list(caller, page) {
      const memories = (await store.page(caller, page)).map(toView)
      return { memories, count: memories.length }
    },

    async delete(caller, id) {
      const isDeleted = await store.delete(caller, id)
      cache.invalidate(caller)
      if (!isDeleted) throw new ServiceError('not_found', `There is no memory ${id}.`)
    },

    async rate(caller, given) {
      const { requestId, score, comment = null } = given
      const createdAt = now()
      const outcome = await feedback.save(caller, { ...given, createdAt }, newId())
      if (outcome === 'unknown') throw new ServiceError('not_found', `There is no run ${requestId}.`)
      if (outcome === 'gone') throw new ServiceError('gone', `The session of request ${requestId} was deleted.`)
      if (outcome === 'running') throw new ServiceError('run_not_ended', `Run ${requestId} has not ended yet.`)
      wake()
      return { request_id: requestId, score, comment, created_at: new Date(createdAt).toISOString() }
    },
  }
}

function toView({ id, content, kind, origin, sources, createdAt }: StoredMemory): MemoryView {
  // Every memory has a source; it goes with its last one.
  const { sessionId = '', messageIndex = 0 } = sources[0] ?? {}
  const source = { session_id: sessionId, message_index: messageIndex }
  return { id, content, kind, origin, source, created_at: new Date(createdAt).toISOString() }
}
