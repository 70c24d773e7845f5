import { stat } from 'node:fs/promises'
import type { Owner } from '../access/owner.ts'
import { readDocument } from './document-text.ts'
import type { Document } from './document.ts'

export interface DocumentCache {
  /** As `readDocument`; a file that has not changed is parsed once. */
  read(absolutePath: string, caller: Owner): Promise<Document>
}

interface Entry {
  version: string
  document: Promise<Document>
  characters: number
}

/** Keeps the text of the documents read last, 20 million characters (some 40 MB) unless told otherwise. */
export function createDocumentCache(maxCharacters = 20_000_000, read = readDocument): DocumentCache {
  // A Map keeps the order of insertion: the first key is the one not used for longest.
  const entries = new Map<string, Entry>()

  function makeRoom(): void {
    let total = [...entries.values()].reduce((sum, { characters }) => sum + characters, 0)
    for (const [key, entry] of entries) {
      if (total <= maxCharacters) return
      entries.delete(key)
      total -= entry.characters
    }
  }

  function start(absolutePath: string, version: string, caller: Owner): Entry {
    const entry: Entry = { version, document: read(absolutePath, caller), characters: 0 }
    entry.document.then(
      ({ text }) => {
        // Text and sections.
        entry.characters = text.length * 2
        makeRoom()
      },
      () => entries.get(absolutePath) === entry && entries.delete(absolutePath),
    )
    return entry
  }

  return {
    async read(absolutePath, caller) {
      const { mtimeMs, size } = await stat(absolutePath)
      const version = `${mtimeMs}-${size}`
      const known = entries.get(absolutePath)
      const entry = known?.version === version ? known : start(absolutePath, version, caller)
      entries.delete(absolutePath)
      entries.set(absolutePath, entry)
      return entry.document
    },
  }
}
