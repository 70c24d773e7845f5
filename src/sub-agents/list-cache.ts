import type { Owner } from '../access/owner.ts'

/** Owners whose lists are kept; the one whose was read longest ago goes first. */
const maxOwners = 10_000

/** Each owner's list, read once and kept until it changes: most callers have none, and every chat asks. */
export interface ListCache<T> {
  of(who: Owner): Promise<readonly T[]>
  /** Called after a change is stored. */
  forget(who: Owner): void
}

export function createListCache<T>(read: (who: Owner) => Promise<readonly T[]>): ListCache<T> {
  const lists = new Map<string, readonly T[]>()
  let changes = 0
  return {
    async of(who) {
      const key = `${who.tenant} ${who.owner}`
      const known = lists.get(key)
      if (known) return known
      const before = changes
      const list = await read(who)
      // What was read while something changed may be old.
      if (changes === before) keep(lists, key, list)
      return list
    },
    forget({ tenant, owner }) {
      changes++
      lists.delete(`${tenant} ${owner}`)
    },
  }
}

function keep<T>(lists: Map<string, readonly T[]>, key: string, list: readonly T[]): void {
  if (lists.size >= maxOwners) lists.delete(lists.keys().next().value!)
  lists.set(key, list)
}
