import type { Owner } from '../access/owner.ts'
import { ServiceError } from '../errors.ts'
import { createFairPool } from '../processes/fair-pool.ts'
import { PoolBusy } from '../processes/fair-queue.ts'
import type { FilesRoot } from './root.ts'
import { searchFiles, type FoundFiles } from './search-files.ts'

/** The files that a chat may name in `context_files`. */
export interface ContextFiles {
  /** Finds files by a part of their path. Throws `overloaded` when too many searches wait. */
  search(caller: Owner, text: string): Promise<FoundFiles>
}

/** A list for people; a longer part of a path finds the others. */
const limits = { limit: 100, maxMs: 2000, maxEntries: 200_000 }
/** Searches share the threads of the process with the database. */
const slots = 2
/** A search box asks at every key, and only the last answer counts. */
const maxWaiting = 10
/** Seconds. */
const retryAfter = 2

export function createContextFiles(root: FilesRoot): ContextFiles {
  const pool = createFairPool({ slots, maxWaiting })
  return {
    async search(caller, text) {
      try {
        return await pool.use({ caller }, () => searchFiles(root, { ...limits, text }))
      } catch (cause) {
        if (cause instanceof PoolBusy) throw new ServiceError('overloaded', cause.message, { cause, retryAfter })
        throw cause
      }
    },
  }
}
