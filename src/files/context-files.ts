import { opendir, stat } from 'node:fs/promises'
import path from 'node:path'
import type { Owner } from '../access/owner.ts'
import { ServiceError } from '../errors.ts'
import { createFairPool, PoolBusy } from '../processes/fair-pool.ts'
import { isDocument } from './document-kind.ts'
import { mediaTypeOf } from './media.ts'
import { isHidden } from './patterns.ts'
import type { FilesRoot } from './root.ts'

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

/** A file that a chat may name in `context_files`. */
interface FoundFile {
  /** Relative to the files root. */
  path: string
  /** Bytes. */
  size: number
  mediaType: string
}

interface FoundFiles {
  /** Sorted by path. */
  files: FoundFile[]
  /** True when more files may match. */
  hasMore: boolean
}

interface FileSearch {
  /** Part of the path, in any case; empty for every file. */
  text: string
  limit: number
  /** Milliseconds, after which the search answers with the files so far. */
  maxMs: number
  /** Entries of folders that the search reads at most. */
  maxEntries: number
}

/**
 * Finds documents below the files root by a part of their path: first those of the root, then those of its folders, and so on. Hidden files
 * are left out, and folders behind symbolic links are not entered.
 */
async function searchFiles(root: FilesRoot, { text, limit, maxMs, maxEntries }: FileSearch): Promise<FoundFiles> {
  const deadline = performance.now() + maxMs
  const needle = text.toLowerCase()
  const files: FoundFile[] = []
  const folders = ['']
  let entryCount = 0

  /** True when the search is to stop. */
  async function searchFolder(folder: string): Promise<boolean> {
    const listing = await opendir(path.join(root.path, folder), { bufferSize: entriesPerRead }).catch(() => undefined)
    for await (const entry of listing ?? []) {
      if (++entryCount > maxEntries || performance.now() > deadline) return true
      if (entry.name.startsWith('.')) continue
      const name = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) folders.push(name)
      else if (name.toLowerCase().includes(needle)) {
        const file = await describe(root, name)
        if (file && files.length === limit) return true
        if (file) files.push(file)
      }
    }
    return false
  }

  let hasMore = false
  // The list grows while folders are read.
  for (const folder of folders) {
    hasMore = await searchFolder(folder)
    if (hasMore) break
  }
  return { files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)), hasMore }
}

/** Entries per call of the operating system, which the process handles without a pause. */
const entriesPerRead = 500

/** Undefined for everything that is not a readable document, and for links to the outside or to hidden files. */
async function describe(root: FilesRoot, name: string): Promise<FoundFile | undefined> {
  try {
    const absolute = await root.resolve(name)
    if (isHidden(root.normalise(path.relative(root.path, absolute)))) return undefined
    if (!(await isDocument(absolute))) return undefined
    return { path: name, size: (await stat(absolute)).size, mediaType: mediaTypeOf(name) }
  } catch {
    // The file is gone, leads outside of the root, or cannot be read.
    return undefined
  }
}
