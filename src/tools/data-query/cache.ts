import type { Database, DatabasePlan } from './database.ts'

/** Keeps the databases that were used last, so that the next call with the same files and filters finds its tables loaded. */
export interface DatabaseCache {
  /** Opens the plan's database, or shares the one that is there, while `work` runs. An opening that nobody waits for is stopped. */
  use<T>(plan: DatabasePlan, signal: AbortSignal, work: (database: Database) => Promise<T>): Promise<T>
}

interface Entry {
  database: Promise<Database>
  opening: AbortController
  users: number
}

export function createDatabaseCache(open: (plan: DatabasePlan, signal: AbortSignal) => Promise<Database>, maxKept: number): DatabaseCache {
  // In the order of last use.
  const entries = new Map<string, Entry>()

  function enter(key: string, plan: DatabasePlan): Entry {
    const there = entries.get(key)
    entries.delete(key)
    const entry = there ?? begin(plan)
    if (!there) entry.database.catch(() => forget(key, entry))
    entries.set(key, entry)
    entry.users++
    return entry
  }

  function begin(plan: DatabasePlan): Entry {
    const opening = new AbortController()
    return { database: open(plan, opening.signal), opening, users: 0 }
  }

  function forget(key: string, entry: Entry): void {
    if (entries.get(key) === entry) entries.delete(key)
  }

  function leave(key: string, entry: Entry, isOpen: boolean): void {
    entry.users--
    if (entry.users === 0 && !isOpen) {
      forget(key, entry)
      entry.opening.abort(new Error('cancelled'))
      entry.database.then((database) => database.close()).catch(() => {})
    }
    for (const [other, idle] of entries) {
      if (entries.size <= maxKept) break
      if (idle.users > 0) continue
      entries.delete(other)
      idle.database.then((database) => database.close()).catch(() => {})
    }
  }

  async function use<T>(plan: DatabasePlan, signal: AbortSignal, work: (database: Database) => Promise<T>): Promise<T> {
    const key = JSON.stringify(plan)
    const entry = enter(key, plan)
    let isOpen = false
    try {
      const database = await orAborted(entry.database, signal)
      isOpen = true
      return await work(database)
    } finally {
      leave(key, entry, isOpen)
    }
  }

  return { use }
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
