import { setImmediate } from 'node:timers/promises'
import { mix } from './rank.ts'
import type { Passage, PassageHit, QueryVector, SearchDocument, Tier, TierCounts, TierSearch, UnembeddedText } from './retriever.ts'
import { cosine, hashOf, textToEmbed, withLength, type ByteVector } from './vectors.ts'
import { PassageIndex } from './word-index.ts'

interface IndexedPassage {
  document: string
  position: number
  passage: Passage
  hash: string
  /** Undefined until there is a vector; null when the passage needs none. */
  vector?: ByteVector | null
}

interface Entry {
  document: SearchDocument
  /** Ids of the passages in the word index. */
  ids: number[]
}

/** Passages indexed in a turn of the event loop, about 10 ms of work. */
const passagesPerTurn = 100

/** The tier in memory. */
export class MemoryTier implements Tier {
  private readonly words = new PassageIndex()
  private readonly entries = new Map<string, Entry>()
  private readonly versionsById = new Map<string, string>()
  private readonly passages = new Map<number, IndexedPassage>()
  private encoder: string | undefined
  private embedded = 0

  async put(...documents: readonly SearchDocument[]): Promise<string[]> {
    const hashes: string[] = []
    for (const document of documents) hashes.push(...(await this.putDocument(document)))
    return hashes
  }

  async remove(ids: readonly string[]): Promise<string[]> {
    return ids.flatMap((id) => this.removeEntry(id))
  }

  versions(): ReadonlyMap<string, string> {
    return this.versionsById
  }

  /** All documents, to move them elsewhere. */
  documents(): SearchDocument[] {
    return [...this.entries.values()].map(({ document }) => document)
  }

  async search(query: string, { limit, isVisible = () => true, vector }: TierSearch): Promise<PassageHit[]> {
    const visible = [...this.entries].filter(([id]) => isVisible(id)).flatMap(([, { ids }]) => ids)
    const words = this.words.scores(query, visible)
    const signals = { words, related: this.words.relatedScores(query, visible), cosineOf: this.toCosines(vector) }
    return mix(visible, signals, limit).map(({ id, score }): PassageHit => {
      const { document, position, passage } = this.passages.get(id)!
      return { document, position, ...passage, score }
    })
  }

  async missing(encoder: string, limit: number): Promise<UnembeddedText[]> {
    this.useEncoder(encoder)
    if (this.embedded === this.passages.size) return []
    const texts: UnembeddedText[] = []
    for (const { document, passage, hash, vector } of this.passages.values()) {
      if (texts.length === limit) break
      if (vector === undefined) texts.push({ hash, text: textToEmbed(passage, this.entries.get(document)!.document.title ?? '') })
    }
    return texts
  }

  async setVectors(encoder: string, vectors: ReadonlyMap<string, Int8Array | null>): Promise<void> {
    if (encoder !== this.encoder) return
    for (const passage of this.passages.values()) {
      const values = vectors.get(passage.hash)
      if (values !== undefined) this.setVector(passage, values && withLength(values))
    }
  }

  counts(encoder: string | undefined): TierCounts {
    const embedded = encoder !== undefined && encoder === this.encoder ? this.embedded : 0
    return { documents: this.entries.size, passages: this.passages.size, embedded }
  }

  async close(): Promise<void> {}

  private async putDocument(document: SearchDocument): Promise<string[]> {
    const { id, version, title = '' } = document
    const added = new Map<number, IndexedPassage>()
    for (const [position, passage] of document.passages.entries()) {
      const hash = hashOf(textToEmbed(passage, title))
      added.set(this.words.add(`${passage.heading} ${title}`, passage.text), { document: id, position, passage, hash })
      if (added.size % passagesPerTurn === 0) await setImmediate()
    }
    const former = (this.entries.get(id)?.ids ?? []).map((passageId) => this.passages.get(passageId)!)
    const vectors = new Map(former.map(({ hash, vector }) => [hash, vector]))
    const removed = this.removeEntry(id)
    this.entries.set(id, { document, ids: [...added.keys()] })
    this.versionsById.set(id, version)
    for (const [passageId, passage] of added) {
      this.passages.set(passageId, passage)
      const vector = vectors.get(passage.hash)
      if (vector !== undefined) this.setVector(passage, vector)
    }
    const current = new Set([...added.values()].map(({ hash }) => hash))
    return removed.filter((hash) => !current.has(hash))
  }

  private removeEntry(id: string): string[] {
    const ids = this.entries.get(id)?.ids ?? []
    const hashes = ids.map((passageId) => this.passages.get(passageId)!.hash)
    this.words.remove(ids)
    for (const passageId of ids) {
      if (this.passages.get(passageId)?.vector !== undefined) this.embedded--
      this.passages.delete(passageId)
    }
    this.entries.delete(id)
    this.versionsById.delete(id)
    return hashes
  }

  private setVector(passage: IndexedPassage, vector: ByteVector | null): void {
    if (passage.vector === undefined) this.embedded++
    passage.vector = vector
  }

  private useEncoder(encoder: string): void {
    if (encoder === this.encoder) return
    this.encoder = encoder
    for (const passage of this.passages.values()) delete passage.vector
    this.embedded = 0
  }

  private toCosines(vector: QueryVector | undefined): ((id: number) => number | undefined) | undefined {
    if (!vector || vector.encoder !== this.encoder) return undefined
    return (id) => {
      const passageVector = this.passages.get(id)?.vector
      return passageVector ? cosine(vector, passageVector) : undefined
    }
  }
}
