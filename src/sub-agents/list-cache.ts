import { callerKey, type Owner } from '../access/owner.ts'

/** Owners with a cached list; the list that was read longest ago is dropped first. */
const maxOwners = 10_000

/**
 * A cache of one list per owner, read once and kept until a change: most callers have no list, and every chat asks.
 */
interface ListCache<T> {
  /** At once where the list is in the cache. */
  get(caller: Owner): Promise<readonly T[]> | readonly T[]
  /** Called after a change is stored. */
  invalidate(caller: Owner): void
}

interface ListCacheOptions {
  /** True for lists that may be cached; default: all. */
  isCacheable?(list: readonly unknown[]): boolean
  /** Lifetime of a cached list in milliseconds; default: until a change. */
  maxAgeMs?: number
  now?(): number
}

export function createListCache<T>(
  read: (caller: Owner) => Promise<readonly T[]>,
  { isCacheable = () => true, maxAgeMs = Infinity, now = () => 0 }: ListCacheOptions = {},
): ListCache<T> {
  const lists = new Map<string, CachedList<T>>()
  let changes = 0

  async function load(caller: Owner, key: string): Promise<readonly T[]> {
    const changesBefore = changes
    const readAt = now()
    const list = await read(caller)
    // A list that was read during a change may be outdated.
    if (changes === changesBefore && isCacheable(list)) keep(lists, key, { list, until: readAt + maxAgeMs })
    return list
  }

  return {
    get(caller) {
      const key = callerKey(caller)
      const cached = lists.get(key)
      return cached && (cached.until === Infinity || now() < cached.until) ? cached.list : load(caller, key)
    },
    invalidate(caller) {
      changes++
      lists.delete(callerKey(caller))
    },
  }
}

interface CachedList<T> {
  list: readonly T[]
  until: number
}

function keep<T>(lists: Map<string, CachedList<T>>, key: string, entry: CachedList<T>): void {
  lists.delete(key)
  if (lists.size >= maxOwners) lists.delete(lists.keys().next().value!)
  lists.set(key, entry)
}
