import { setImmediate } from 'node:timers/promises'
import { mix } from './rank.ts'
import type { Passage, PassageHit, QueryVector, SearchDocument, Tier, UnembeddedText } from './retriever.ts'
import { cosine, hashOf, textToEmbed, withLength, type ByteVector } from './vectors.ts'
import { createPassageIndex } from './word-index.ts'

interface IndexedPassage {
  document: string
  position: number
  passage: Passage
  hash: string
  /** Undefined until there is a vector; null when the passage needs none. */
  vector?: ByteVector | null
}

/** The tier in memory. Its documents can be read back, to move them elsewhere. */
export interface MemoryTier extends Tier {
  documents(): Iterable<SearchDocument>
}

interface Entry {
  document: SearchDocument
  /** Ids of the passages in the word index. */
  ids: number[]
}

/** Passages indexed in a turn of the event loop, about 10 ms of work. */
const passagesPerTurn = 100

export function createMemoryTier(): MemoryTier {
  const words = createPassageIndex()
  const entries = new Map<string, Entry>()
  const versions = new Map<string, string>()
  const passages = new Map<number, IndexedPassage>()
  let currentEncoder: string | undefined
  let embedded = 0

  function removeEntry(id: string): string[] {
    const ids = entries.get(id)?.ids ?? []
    const hashes = ids.map((passageId) => passages.get(passageId)!.hash)
    words.remove(ids)
    for (const passageId of ids) {
      if (passages.get(passageId)?.vector !== undefined) embedded--
      passages.delete(passageId)
    }
    entries.delete(id)
    versions.delete(id)
    return hashes
  }

  async function putDocument(document: SearchDocument): Promise<string[]> {
    const { id, version, title = '' } = document
    const added = new Map<number, IndexedPassage>()
    for (const [position, passage] of document.passages.entries()) {
      const hash = hashOf(textToEmbed(passage, title))
      added.set(words.add(`${passage.heading} ${title}`, passage.text), { document: id, position, passage, hash })
      if (added.size % passagesPerTurn === 0) await setImmediate()
    }
    const vectors = new Map(
      (entries.get(id)?.ids ?? []).map((passageId) => [passages.get(passageId)!.hash, passages.get(passageId)!.vector]),
    )
    const removed = removeEntry(id)
    entries.set(id, { document, ids: [...added.keys()] })
    versions.set(id, version)
    for (const [passageId, passage] of added) {
      passages.set(passageId, passage)
      const vector = vectors.get(passage.hash)
      if (vector !== undefined) setVector(passage, vector)
    }
    const current = new Set([...added.values()].map(({ hash }) => hash))
    return removed.filter((hash) => !current.has(hash))
  }

  function setVector(passage: IndexedPassage, vector: ByteVector | null): void {
    if (passage.vector === undefined) embedded++
    passage.vector = vector
  }

  function useEncoder(encoder: string): void {
    if (encoder === currentEncoder) return
    currentEncoder = encoder
    for (const passage of passages.values()) delete passage.vector
    embedded = 0
  }

  function toCosines(vector: QueryVector | undefined): ((id: number) => number | undefined) | undefined {
    if (!vector || vector.encoder !== currentEncoder) return undefined
    return (id) => {
      const own = passages.get(id)?.vector
      return own ? cosine(vector, own) : undefined
    }
  }

  return {
    async put(...documents) {
      const hashes: string[] = []
      for (const document of documents) hashes.push(...(await putDocument(document)))
      return hashes
    },
    remove: async (ids) => ids.flatMap(removeEntry),
    versions: () => versions,
    async search(query, { limit, isVisible = () => true, vector }) {
      const visible = [...entries].filter(([id]) => isVisible(id)).flatMap(([, { ids }]) => ids)
      const signals = { words: words.scores(query, visible), related: words.relatedScores(query, visible), cosineOf: toCosines(vector) }
      const hits = mix(visible, signals, limit)
      return hits.map(({ id, score }): PassageHit => {
        const { document, position, passage } = passages.get(id)!
        return { document, position, ...passage, score }
      })
    },
    async missing(encoder, limit) {
      useEncoder(encoder)
      if (embedded === passages.size) return []
      const texts: UnembeddedText[] = []
      for (const { document, passage, hash, vector } of passages.values()) {
        if (texts.length === limit) break
        if (vector === undefined) texts.push({ hash, text: textToEmbed(passage, entries.get(document)!.document.title ?? '') })
      }
      return texts
    },
    async setVectors(encoder, vectors) {
      if (encoder !== currentEncoder) return
      for (const passage of passages.values()) {
        const values = vectors.get(passage.hash)
        if (values !== undefined) setVector(passage, values && withLength(values))
      }
    },
    counts: (encoder) => ({
      documents: entries.size,
      passages: passages.size,
      embedded: encoder !== undefined && encoder === currentEncoder ? embedded : 0,
    }),
    documents: () => [...entries.values()].map(({ document }) => document),
    async close() {},
  }
}
