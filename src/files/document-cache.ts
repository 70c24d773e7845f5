import { stat } from 'node:fs/promises'
import type { Owner } from '../access/owner.ts'
import { readDocument } from './document-text.ts'
import type { Document } from './document.ts'

export interface DocumentCache {
  /** Like `readDocument`, but an unchanged file is parsed only once. */
  read(absolutePath: string, caller: Owner): Promise<Document>
}

interface CachedDocument {
  version: string
  document: Promise<Document>
  characters: number
}

/** Caches the most recently read documents. Default size: 20 million characters (about 40 MB). */
export function createDocumentCache(maxCharacters = 20_000_000, read = readDocument): DocumentCache {
  // A Map keeps insertion order, so the first key is the least recently used.
  const entries = new Map<string, CachedDocument>()

  function evict(): void {
    let total = [...entries.values()].reduce((sum, { characters }) => sum + characters, 0)
    for (const [key, entry] of entries) {
      if (total <= maxCharacters) return
      entries.delete(key)
      total -= entry.characters
    }
  }

  function start(absolutePath: string, version: string, caller: Owner): CachedDocument {
    const entry: CachedDocument = { version, document: read(absolutePath, caller), characters: 0 }
    entry.document.then(
      ({ text }) => {
        // The sections are slices of the text.
        entry.characters = text.length
        evict()
      },
      () => entries.get(absolutePath) === entry && entries.delete(absolutePath),
    )
    return entry
  }

  return {
    async read(absolutePath, caller) {
      const { mtimeMs, size } = await stat(absolutePath)
      const version = `${mtimeMs}-${size}`
      const cached = entries.get(absolutePath)
      const entry = cached?.version === version ? cached : start(absolutePath, version, caller)
      entries.delete(absolutePath)
      entries.set(absolutePath, entry)
      return entry.document
    },
  }
}
