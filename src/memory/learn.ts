import { callerKey, type Owner } from '../access/owner.ts'
import type { Embedder, Model } from '../agent/model.ts'
import { createKeyedMutex } from '../concurrency/mutex.ts'
import { reachState } from '../states.ts'
import { extract, extractLesson } from './extract.ts'
import type { MemoryCache } from './memory-cache.ts'
import type { Change, FeedbackStore, Material, Memory, MemorySource, MemoryStore, NewMemory } from './memory.ts'
import { merge } from './merge.ts'
import { toVectors } from './recall.ts'

/** The models for memory; each may be missing. */
export interface MemoryModels {
  small: Model | undefined
  embedder: Embedder | undefined
  /** Memories of a caller above which vectors are made; default: every memory gets one. */
  vectorsAbove?: number
}

export interface LearnDependencies {
  store: MemoryStore
  feedback: FeedbackStore
  cache: MemoryCache
  now(): number
  newId(): string
  /** Reports a failure of optional work. */
  onFault(error: unknown): void
}

/** Attempts of one merge; a merge starts anew when the memories changed meanwhile. */
const maxTries = 5

/** Adds lasting statements to a caller's memory. Failed work may be repeated; a repetition changes nothing more. */
export class Learning {
  private readonly deps: LearnDependencies
  private readonly mutex = createKeyedMutex()

  constructor(deps: LearnDependencies) {
    this.deps = deps
  }

  /** Learns from a run that has ended. */
  async learnFromRun(caller: Owner, requestId: string, models: MemoryModels, signal: AbortSignal): Promise<void> {
    const material = await this.deps.store.material(caller, requestId)
    if (!material) return
    const source = toSource(material, `retain ${requestId}`)
    if (await this.deps.store.hasTaken(caller, source.session, source.madeBy)) return
    const newMemories = await extract(material, models.small, signal)
    if (newMemories.length > 0) await this.learn({ caller, newMemories, source, models, signal })
  }

  /** Learns from the caller's feedback on a run. */
  async learnFromFeedback(caller: Owner, requestId: string, models: MemoryModels, signal: AbortSignal): Promise<void> {
    const [material, rating] = await Promise.all([this.deps.store.material(caller, requestId), this.deps.feedback.find(caller, requestId)])
    if (!material || !rating) return
    const source = toSource(material, `feedback ${requestId}`)
    const lesson = await extractLesson(material.question, rating, models.small, signal)
    await this.retract(caller, source)
    if (lesson) await this.learn({ caller, newMemories: [lesson], source, models, signal })
  }

  /** Later feedback retracts the lesson of earlier feedback. */
  private async retract(caller: Owner, source: MemorySource): Promise<void> {
    if (!(await this.deps.store.hasTaken(caller, source.session, source.madeBy))) return
    await this.applyChanges(caller, source, async () => [{ kind: 'retract', madeBy: source.madeBy }])
  }

  private async learn({ caller, newMemories, source, models, signal }: Lesson): Promise<void> {
    const { embedder, vectorsAbove = 0 } = models
    await this.applyChanges(caller, source, async (memories) => {
      const changes = await merge(newMemories, memories, { model: models.small, now: this.deps.now(), newId: this.deps.newId, signal })
      return this.withVectors(changes, memories.length < vectorsAbove ? undefined : embedder, signal)
    })
    if (embedder) await this.backfill(caller, { embedder, vectorsAbove }, signal).catch(this.deps.onFault)
  }

  /**
   * Applies changes to the current memories, one caller at a time in this process, and with retries against other
   * processes.
   */
  private applyChanges(caller: Owner, source: MemorySource, toChanges: (memories: readonly Memory[]) => Promise<Change[]>): Promise<void> {
    return this.mutex.run(callerKey(caller), async () => {
      for (let tries = 0; tries < maxTries; tries++) {
        const { version, memories } = await this.deps.store.all(caller)
        const changes = await toChanges(memories)
        if (changes.length === 0) return
        const outcome = await this.deps.store.apply(caller, version, changes, source, this.deps.now())
        this.deps.cache.invalidate(caller)
        if (outcome !== 'moved') return
        reachState('memory-raced')
      }
      throw new Error('The memories of a caller change faster than they can be merged.')
    })
  }

  /** Adds vectors to new memories. Without vectors the memories are stored all the same and found by words. */
  private async withVectors(changes: Change[], embedder: Embedder | undefined, signal: AbortSignal): Promise<Change[]> {
    const added = changes.flatMap((change) => (change.kind === 'add' ? [change.memory.content] : []))
    if (!embedder || added.length === 0) return changes
    try {
      const vectors = await toVectors(embedder, added, signal)
      return changes.map((change) =>
        change.kind === 'add' ? { ...change, memory: { ...change.memory, vector: vectors.shift() } } : change,
      )
    } catch (error) {
      signal.throwIfAborted()
      this.deps.onFault(error)
      return changes
    }
  }

  /**
   * Adds vectors to memories without a vector of this embedder, because the embedder was down or was replaced; a batch
   * each time.
   */
  private async backfill(caller: Owner, { embedder, vectorsAbove }: Backfill, signal: AbortSignal): Promise<void> {
    const { memories } = await this.deps.store.all(caller)
    if (memories.length <= vectorsAbove) return
    const withoutVector = memories.filter(({ vector }) => vector?.model !== embedder.name).slice(-maxBackfill)
    if (withoutVector.length === 0) return
    const vectors = await toVectors(
      embedder,
      withoutVector.map(({ content }) => content),
      signal,
    )
    await this.deps.store.setVectors(caller, new Map(withoutVector.map(({ id }, at) => [id, vectors[at]!])))
    this.deps.cache.invalidate(caller)
  }
}

const maxBackfill = 64

interface Backfill {
  embedder: Embedder
  vectorsAbove: number
}

interface Lesson {
  caller: Owner
  newMemories: readonly NewMemory[]
  source: MemorySource
  models: MemoryModels
  signal: AbortSignal
}

function toSource({ session, sessionId, messageIndex }: Material, madeBy: string): MemorySource {
  return { session, sessionId, messageIndex, madeBy }
}
