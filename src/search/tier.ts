import type { PassageHit, RetrieverSearch, SearchDocument } from './retriever.ts'
import type { ByteVector } from './vectors.ts'

/** Where a retriever keeps its passages: in memory while they are few, otherwise on disk. */
export interface Tier {
  /** Documents have different ids. Returns the hashes of texts that their former versions had, and the new versions do not have. */
  put(...documents: readonly SearchDocument[]): Promise<string[]>
  /** Returns the hashes of the removed texts. */
  remove(ids: readonly string[]): Promise<string[]>
  versions(): ReadonlyMap<string, string>
  search(query: string, options: TierSearch): Promise<PassageHit[]>
  /** At most `limit` passages without a vector of the encoder. Vectors of another encoder are dropped. */
  missing(encoder: string, limit: number): Promise<UnembeddedText[]>
  /** Gives each passage with one of the texts its vector; null for a text that needs none. Ignored unless `missing` was called with the encoder last. */
  setVectors(encoder: string, vectors: ReadonlyMap<string, Int8Array | null>): Promise<void>
  /** `embedded` counts the vectors of the encoder. */
  counts(encoder: string | undefined): TierCounts
  close(): Promise<void>
}

export interface TierSearch extends RetrieverSearch {
  vector?: QueryVector | undefined
}

/** The vector of a query, comparable with those of the same encoder. */
export interface QueryVector extends ByteVector {
  encoder: string
}

export interface UnembeddedText {
  /** `hashOf` the text. */
  hash: string
  text: string
}

export interface TierCounts {
  documents: number
  passages: number
  /** Passages that have a vector, or need none. */
  embedded: number
}
