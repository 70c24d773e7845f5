import { callerKey, type Owner } from '../access/owner.ts'
import type { Embedder } from '../agent/embedder.ts'
import type { Model } from '../agent/model.ts'
import { extract, extractLesson } from './extract.ts'
import type { MemoryCache } from './memory-cache.ts'
import type { Change, FeedbackStore, Material, MemoryStore } from './memory-store.ts'
import type { Memory, MemorySource, NewMemory } from './memory.ts'
import { merge } from './merge.ts'
import { toVectors } from './vectors.ts'
import { createKeyedMutex } from '../concurrency/mutex.ts'

/** The models that memory is made with; each may be missing. */
export interface MemoryModels {
  small: Model | undefined
  embedder: Embedder | undefined
}

export interface LearnDependencies {
  store: MemoryStore
  feedback: FeedbackStore
  cache: MemoryCache
  now(): number
  newId(): string
  /** What could not be done, and did not have to be. */
  onFault(error: unknown): void
}

/** Takes what lasts into a caller's memory. What fails may be done again; done twice it changes nothing more. */
export interface Learning {
  /** From a run that has ended. */
  learnFromRun(caller: Owner, requestId: string, models: MemoryModels, signal: AbortSignal): Promise<void>
  /** From what the caller thought of a run. */
  learnFromFeedback(caller: Owner, requestId: string, models: MemoryModels, signal: AbortSignal): Promise<void>
}

/** Whoever finds what is known changed meanwhile merges anew. */
const maxTries = 5

export function createLearning(deps: LearnDependencies): Learning {
  const { store, feedback, cache, now } = deps
  const mutex = createKeyedMutex()

  async function learnFromRun(caller: Owner, requestId: string, models: MemoryModels, signal: AbortSignal): Promise<void> {
    const material = await store.material(caller, requestId)
    if (!material) return
    const source = toSource(material, `retain ${requestId}`)
    if (await store.hasTaken(caller, source.session, source.madeBy)) return
    const found = await extract(material, models.small, signal)
    if (found.length > 0) await learn({ caller, found, source, models, signal })
  }

  async function learnFromFeedback(caller: Owner, requestId: string, models: MemoryModels, signal: AbortSignal): Promise<void> {
    const [material, given] = await Promise.all([store.material(caller, requestId), feedback.find(caller, requestId)])
    if (!material || !given) return
    const source = toSource(material, `feedback ${requestId}`)
    const lesson = await extractLesson(material.question, given, models.small, signal)
    await retract(caller, source)
    if (lesson) await learn({ caller, found: [lesson], source, models, signal })
  }

  /** A later feedback takes back what an earlier one taught. */
  async function retract(caller: Owner, source: MemorySource): Promise<void> {
    if (!(await store.hasTaken(caller, source.session, source.madeBy))) return
    await changed(caller, source, async () => [{ kind: 'retract', madeBy: source.madeBy }])
  }

  async function learn({ caller, found, source, models, signal }: Lesson): Promise<void> {
    await changed(caller, source, async (memories) => {
      const changes = await merge(found, memories, { model: models.small, now: now(), newId: deps.newId, signal })
      return withVectors(changes, models.embedder, signal)
    })
    if (models.embedder) await backfill(caller, models.embedder, signal).catch(deps.onFault)
  }

  /** Makes the changes to what is known then; one at a time for each caller, here and beside other processes. */
  function changed(caller: Owner, source: MemorySource, toChanges: (memories: readonly Memory[]) => Promise<Change[]>): Promise<void> {
    return mutex.run(callerKey(caller), async () => {
      for (let tries = 0; tries < maxTries; tries++) {
        const { version, memories } = await store.all(caller)
        const changes = await toChanges(memories)
        if (changes.length === 0) return
        const outcome = await store.apply(caller, version, changes, source, now())
        cache.invalidate(caller)
        if (outcome !== 'moved') return
      }
      throw new Error('The memories of a caller change faster than they can be merged.')
    })
  }

  /** Words find them too: without a vector they are kept all the same. */
  async function withVectors(changes: Change[], embedder: Embedder | undefined, signal: AbortSignal): Promise<Change[]> {
    const added = changes.flatMap((change) => (change.kind === 'add' ? [change.memory.content] : []))
    if (!embedder || added.length === 0) return changes
    try {
      const vectors = await toVectors(embedder, added, signal)
      return changes.map((change) =>
        change.kind === 'add' ? { ...change, memory: { ...change.memory, vector: vectors.shift() } } : change,
      )
    } catch (error) {
      signal.throwIfAborted()
      deps.onFault(error)
      return changes
    }
  }

  /** Memories that have no vector of this embedder: it was down, or is another one than before. A portion each time. */
  async function backfill(caller: Owner, embedder: Embedder, signal: AbortSignal): Promise<void> {
    const { memories } = await store.all(caller)
    const bare = memories.filter(({ vector }) => vector?.model !== embedder.name).slice(-maxBackfill)
    if (bare.length === 0) return
    const vectors = await toVectors(
      embedder,
      bare.map(({ content }) => content),
      signal,
    )
    await store.setVectors(caller, new Map(bare.map(({ id }, at) => [id, vectors[at]!])))
    cache.invalidate(caller)
  }

  return { learnFromRun, learnFromFeedback }
}

const maxBackfill = 64

interface Lesson {
  caller: Owner
  found: readonly NewMemory[]
  source: MemorySource
  models: MemoryModels
  signal: AbortSignal
}

function toSource({ session, sessionId, messageIndex }: Material, madeBy: string): MemorySource {
  return { session, sessionId, messageIndex, madeBy }
}
