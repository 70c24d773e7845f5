import { callerKey, type Owner } from '../access/owner.ts'
import type { Embedder } from '../agent/embedder.ts'
import type { Model } from '../agent/model.ts'
import { extract, extractLesson } from './extract.ts'
import type { Known } from './known.ts'
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
  known: Known
  now(): number
  newId(): string
  /** What could not be done, and did not have to be. */
  onFault(error: unknown): void
}

/** Takes what lasts into a caller's memory. What fails may be done again; done twice it changes nothing more. */
export interface Learning {
  /** From a run that has ended. */
  retain(who: Owner, requestId: string, models: MemoryModels, signal: AbortSignal): Promise<void>
  /** From what the caller thought of a run. */
  heed(who: Owner, requestId: string, models: MemoryModels, signal: AbortSignal): Promise<void>
}

/** Whoever finds what is known changed meanwhile merges anew. */
const maxTries = 5

export function createLearning(deps: LearnDependencies): Learning {
  const { store, feedback, known, now } = deps
  const mutex = createKeyedMutex()

  async function retain(who: Owner, requestId: string, models: MemoryModels, signal: AbortSignal): Promise<void> {
    const material = await store.material(who, requestId)
    if (!material) return
    const source = toSource(material, `retain ${requestId}`)
    if (await store.hasTaken(who, source.session, source.madeBy)) return
    const found = await extract(material, models.small, signal)
    if (found.length > 0) await learn({ who, found, source, models, signal })
  }

  async function heed(who: Owner, requestId: string, models: MemoryModels, signal: AbortSignal): Promise<void> {
    const [material, given] = await Promise.all([store.material(who, requestId), feedback.find(who, requestId)])
    if (!material || !given) return
    const source = toSource(material, `feedback ${requestId}`)
    const lesson = await extractLesson(material.question, given, models.small, signal)
    await withdraw(who, source)
    if (lesson) await learn({ who, found: [lesson], source, models, signal })
  }

  /** A later feedback takes back what an earlier one taught. */
  async function withdraw(who: Owner, source: MemorySource): Promise<void> {
    if (!(await store.hasTaken(who, source.session, source.madeBy))) return
    await changed(who, source, async () => [{ kind: 'withdraw', madeBy: source.madeBy }])
  }

  async function learn({ who, found, source, models, signal }: Lesson): Promise<void> {
    await changed(who, source, async (memories) => {
      const changes = await merge(found, memories, { model: models.small, now: now(), newId: deps.newId, signal })
      return withVectors(changes, models.embedder, signal)
    })
    if (models.embedder) await backfill(who, models.embedder, signal).catch(deps.onFault)
  }

  /** Makes the changes to what is known then; one at a time for each caller, here and beside other processes. */
  function changed(who: Owner, source: MemorySource, toChanges: (memories: readonly Memory[]) => Promise<Change[]>): Promise<void> {
    return mutex.run(callerKey(who), async () => {
      for (let tries = 0; tries < maxTries; tries++) {
        const { version, memories } = await store.all(who)
        const changes = await toChanges(memories)
        if (changes.length === 0) return
        const outcome = await store.apply(who, version, changes, source, now())
        known.forget(who)
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
  async function backfill(who: Owner, embedder: Embedder, signal: AbortSignal): Promise<void> {
    const { memories } = await store.all(who)
    const bare = memories.filter(({ vector }) => vector?.model !== embedder.name).slice(-maxBackfill)
    if (bare.length === 0) return
    const vectors = await toVectors(
      embedder,
      bare.map(({ content }) => content),
      signal,
    )
    await store.setVectors(who, new Map(bare.map(({ id }, at) => [id, vectors[at]!])))
    known.forget(who)
  }

  return { retain, heed }
}

const maxBackfill = 64

interface Lesson {
  who: Owner
  found: readonly NewMemory[]
  source: MemorySource
  models: MemoryModels
  signal: AbortSignal
}

function toSource({ session, sessionId, messageIndex }: Material, madeBy: string): MemorySource {
  return { session, sessionId, messageIndex, madeBy }
}
