import { callerKey, type Owner } from '../access/owner.ts'
import { PassageIndex } from '../search/word-index.ts'
import type { Embedder, ModelMeter } from '../agent/model.ts'
import type { Memory, MemoryStore } from './memory.ts'
import type { CallerMemories, Recall, RecalledMemories } from './recall.ts'

/** A cache of callers' memories in this process. */
export interface MemoryCache {
  /** Undefined for a caller without memories; synchronous when that is cached. */
  get(caller: Owner): Promise<CallerMemories | undefined> | undefined
  /** Drops the cached memories of a caller after a change. */
  invalidate(caller: Owner): void
}

interface MemoryCacheOptions {
  now(): number
  /** Milliseconds during which an empty result is served without a query to the store. */
  freshMs?: number
  /** Approximate size in bytes. */
  maxSize?: number
}

interface CacheEntry {
  version: number
  value: CallerMemories | undefined
  size: number
  checkedAt: number
}

export function createMemoryCache(
  store: Pick<MemoryStore, 'version' | 'all'>,
  { now, freshMs = 3000, maxSize = 64 * 1024 * 1024 }: MemoryCacheOptions,
): MemoryCache {
  /** Ordered by last use, oldest first. */
  const entries = new Map<string, CacheEntry>()
  const loading = new Map<string, Promise<CallerMemories | undefined>>()
  let size = 0

  function drop(key: string): void {
    size -= entries.get(key)?.size ?? 0
    entries.delete(key)
  }

  function put(key: string, entry: CacheEntry): void {
    drop(key)
    entries.set(key, entry)
    size += entry.size
    for (const oldest of entries.keys()) {
      if (size <= maxSize || oldest === key) break
      drop(oldest)
    }
  }

  /** Loads the current memories; reuses `before` when the version is the same. */
  async function load(caller: Owner, before: CacheEntry | undefined): Promise<CacheEntry> {
    const checkedAt = now()
    const version = await store.version(caller)
    if (before?.version === version) return { ...before, checkedAt }
    // Most callers have no memories, which the version alone shows.
    if (version === 0) return { version, value: undefined, size: entrySize, checkedAt }
    const all = await store.all(caller)
    const value = all.memories.length > 0 ? toCallerMemories(all.memories) : undefined
    return { version: all.version, value, size: entrySize + sizeOf(all.memories), checkedAt }
  }

  /** Concurrent calls share one load. */
  function loadOnce(caller: Owner, key: string): Promise<CallerMemories | undefined> {
    const pending = loading.get(key)
    if (pending) return pending
    const loadingNow = load(caller, entries.get(key))
      .then((entry) => {
        // A result that was read before a change must not be cached.
        if (loading.get(key) === loadingNow) put(key, entry)
        return entry.value
      })
      .finally(() => {
        if (loading.get(key) === loadingNow) loading.delete(key)
      })
    loading.set(key, loadingNow)
    return loadingNow
  }

  return {
    get(caller) {
      const key = callerKey(caller)
      const entry = entries.get(key)
      // A memory may have been deleted a moment ago, here or elsewhere, so a non-empty entry is checked each time.
      if (entry && !entry.value && now() - entry.checkedAt < freshMs) return undefined
      return loadOnce(caller, key)
    },
    invalidate(caller) {
      const key = callerKey(caller)
      drop(key)
      // A running load may have read the state before the change.
      loading.delete(key)
    },
  }
}

interface AskingRun {
  key: Owner
  /** The question. */
  input: string
  request: { filters: readonly unknown[] }
  agent: { config: { memory: { recall: number } } }
  signal: AbortSignal
  /** Pays for the vector of the question. */
  meter?: ModelMeter | undefined
}

/** Memories for the question of a run; undefined, at once, for the many callers without memories. */
export type RecallForRun = (run: AskingRun) => Promise<RecalledMemories | undefined> | undefined

export function createRecallForRun(cache: MemoryCache, recall: Recall, encoder: () => Embedder | undefined): RecallForRun {
  return ({ key, input, request, agent, signal, meter }) => {
    const limit = agent.config.memory.recall
    const loading = limit === 0 ? undefined : cache.get(key)
    return loading && recall(loading, input, { limit, embedder: encoder(), withoutTools: request.filters.length > 0, signal, meter })
  }
}

const entrySize = 300

function sizeOf(memories: readonly Memory[]): number {
  return memories.reduce((sum, { content, vector }) => sum + 400 + content.length * 6 + (vector?.values.byteLength ?? 0), 0)
}

function toCallerMemories(memories: readonly Memory[]): CallerMemories {
  const index = new PassageIndex()
  for (const { content } of memories) index.add('', content)
  return { memories, index }
}
