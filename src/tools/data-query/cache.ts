import type { Database, DatabasePlan } from './database.ts'
import { orAborted } from '../../concurrency/or-aborted.ts'

/** Caches the most recently used databases, so that the next call with the same files and filters finds its tables loaded. */
export interface DatabaseCache {
  /** Opens the database of the plan, or shares an open database, while `work` runs. An opening without waiting callers is cancelled. */
  use<T>(plan: DatabasePlan, signal: AbortSignal, work: (database: Database) => Promise<T>): Promise<T>
}

interface CachedDatabase {
  database: Promise<Database>
  opening: AbortController
  users: number
}

export function createDatabaseCache(open: (plan: DatabasePlan, signal: AbortSignal) => Promise<Database>, maxIdle: number): DatabaseCache {
  // Least recently used first.
  const entries = new Map<string, CachedDatabase>()

  function acquire(key: string, plan: DatabasePlan): CachedDatabase {
    const cached = entries.get(key)
    entries.delete(key)
    const entry = cached ?? begin(plan)
    if (!cached) entry.database.catch(() => forget(key, entry))
    entries.set(key, entry)
    entry.users++
    return entry
  }

  function begin(plan: DatabasePlan): CachedDatabase {
    const opening = new AbortController()
    return { database: open(plan, opening.signal), opening, users: 0 }
  }

  function forget(key: string, entry: CachedDatabase): void {
    if (entries.get(key) === entry) entries.delete(key)
  }

  function release(key: string, entry: CachedDatabase, isOpen: boolean): void {
    entry.users--
    if (entry.users === 0 && !isOpen) {
      forget(key, entry)
      entry.opening.abort(new Error('cancelled'))
      entry.database.then((database) => database.close()).catch(() => {})
    }
    for (const [idleKey, idle] of entries) {
      if (entries.size <= maxIdle) break
      if (idle.users > 0) continue
      entries.delete(idleKey)
      idle.database.then((database) => database.close()).catch(() => {})
    }
  }

  async function use<T>(plan: DatabasePlan, signal: AbortSignal, work: (database: Database) => Promise<T>): Promise<T> {
    const key = JSON.stringify(plan)
    const entry = acquire(key, plan)
    let isOpen = false
    try {
      const database = await orAborted(entry.database, signal)
      isOpen = true
      return await work(database)
    } finally {
      release(key, entry, isOpen)
    }
  }

  return { use }
}
