import { callerKey, type Owner } from '../access/owner.ts'

/** Owners whose lists are kept; the one whose was read longest ago goes first. */
const maxOwners = 10_000

/** Each owner's list, read once and kept until it changes: most callers have none, and every chat asks. */
export interface ListCache<T> {
  of(who: Owner): Promise<readonly T[]>
  /** Called after a change is stored. */
  forget(who: Owner): void
}

interface Options {
  /** Whether a list is kept. */
  isKept?(list: readonly unknown[]): boolean
  /** For how long. */
  keptMs?: number
  now?(): number
}

export function createListCache<T>(
  read: (who: Owner) => Promise<readonly T[]>,
  { isKept = () => true, keptMs = Infinity, now = () => 0 }: Options = {},
): ListCache<T> {
  const lists = new Map<string, Kept<T>>()
  let changes = 0
  return {
    async of(who) {
      const key = callerKey(who)
      const known = lists.get(key)
      if (known && now() < known.until) return known.list
      const before = changes
      const readAt = now()
      const list = await read(who)
      // What was read while something changed may be old.
      if (changes === before && isKept(list)) keep(lists, key, { list, until: readAt + keptMs })
      return list
    },
    forget(who) {
      changes++
      lists.delete(callerKey(who))
    },
  }
}

interface Kept<T> {
  list: readonly T[]
  until: number
}

function keep<T>(lists: Map<string, Kept<T>>, key: string, kept: Kept<T>): void {
  lists.delete(key)
  if (lists.size >= maxOwners) lists.delete(lists.keys().next().value!)
  lists.set(key, kept)
}
