import { callerKey, type Owner } from '../access/owner.ts'
import { createPassageIndex, type PassageIndex } from '../search/word-index.ts'
import type { MemoryStore } from './memory-store.ts'
import type { Memory } from './memory.ts'

/** The memories of a caller, ready to be searched. The passages of the index are numbered like the memories. */
export interface CallerMemories {
  memories: readonly Memory[]
  index: PassageIndex
}

/** What is known of callers, kept in this process for a while. */
export interface MemoryCache {
  /** Undefined for a caller without memories. */
  get(caller: Owner): Promise<CallerMemories | undefined> | undefined
  /** It was changed. */
  invalidate(caller: Owner): void
}

interface MemoryCacheOptions {
  now(): number
  /** Milliseconds for which the store is not asked whether another process has learned something of a caller without memories. */
  freshMs?: number
  /** Bytes, about. */
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
  /** Least recently used first. */
  const entries = new Map<string, CacheEntry>()
  const loading = new Map<string, Promise<CallerMemories | undefined>>()
  let size = 0

  function drop(key: string): void {
    size -= entries.get(key)?.size ?? 0
    entries.delete(key)
  }

  function keep(key: string, entry: CacheEntry): void {
    drop(key)
    entries.set(key, entry)
    size += entry.size
    for (const oldest of entries.keys()) {
      if (size <= maxSize || oldest === key) break
      drop(oldest)
    }
  }

  /** What is known now; what is in `before` need not be read again. */
  async function load(caller: Owner, before: CacheEntry | undefined): Promise<CacheEntry> {
    const checkedAt = now()
    const version = await store.version(caller)
    if (before?.version === version) return { ...before, checkedAt }
    // Nothing was ever kept of most callers: that is all that is asked for them.
    if (version === 0) return { version, value: undefined, size: entrySize, checkedAt }
    const all = await store.all(caller)
    const value = all.memories.length > 0 ? toCallerMemories(all.memories) : undefined
    return { version: all.version, value, size: entrySize + sizeOf(all.memories), checkedAt }
  }

  /** Callers that ask meanwhile wait for the same answer. */
  function ask(caller: Owner, key: string): Promise<CallerMemories | undefined> {
    const known = loading.get(key)
    if (known) return known
    const asked = load(caller, entries.get(key))
      .then((entry) => {
        // What was read before a change is not kept.
        if (loading.get(key) === asked) keep(key, entry)
        return entry.value
      })
      .finally(() => {
        if (loading.get(key) === asked) loading.delete(key)
      })
    loading.set(key, asked)
    return asked
  }

  return {
    get(caller) {
      const key = callerKey(caller)
      const entry = entries.get(key)
      // Of what is known something may have been deleted a moment ago, here or elsewhere: that is looked up each time.
      if (entry && !entry.value && now() - entry.checkedAt < freshMs) return undefined
      return ask(caller, key)
    },
    invalidate(caller) {
      const key = callerKey(caller)
      drop(key)
      // What is being read may be from before the change.
      loading.delete(key)
    },
  }
}

const entrySize = 300

function sizeOf(memories: readonly Memory[]): number {
  return memories.reduce((sum, { content, vector }) => sum + 400 + content.length * 6 + (vector?.values.byteLength ?? 0), 0)
}

function toCallerMemories(memories: readonly Memory[]): CallerMemories {
  const index = createPassageIndex()
  for (const { content } of memories) index.add('', content)
  return { memories, index }
}
