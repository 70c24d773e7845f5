import { callerKey, type Owner } from '../access/owner.ts'

/** Owners whose lists are kept; the one whose was read longest ago goes first. */
const maxOwners = 10_000

/** Each owner's list, read once and kept until it changes: most callers have none, and every chat asks. */
export interface ListCache<T> {
  get(caller: Owner): Promise<readonly T[]>
  /** Called after a change is stored. */
  invalidate(caller: Owner): void
}

interface ListCacheOptions {
  /** Whether a list is kept. */
  isKept?(list: readonly unknown[]): boolean
  /** For how long. */
  keptMs?: number
  now?(): number
}

export function createListCache<T>(
  read: (caller: Owner) => Promise<readonly T[]>,
  { isKept = () => true, keptMs = Infinity, now = () => 0 }: ListCacheOptions = {},
): ListCache<T> {
  const lists = new Map<string, CachedList<T>>()
  let changes = 0
  return {
    async get(caller) {
      const key = callerKey(caller)
      const known = lists.get(key)
      if (known && now() < known.until) return known.list
      const before = changes
      const readAt = now()
      const list = await read(caller)
      // What was read while something changed may be old.
      if (changes === before && isKept(list)) keep(lists, key, { list, until: readAt + keptMs })
      return list
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

function keep<T>(lists: Map<string, CachedList<T>>, key: string, kept: CachedList<T>): void {
  lists.delete(key)
  if (lists.size >= maxOwners) lists.delete(lists.keys().next().value!)
  lists.set(key, kept)
}
