import type { JsonObject } from '../agent/messages.ts'
import type { ModelMeter } from '../agent/model.ts'
import type { ByteVector } from './vectors.ts'

/** Port: a search index of documents, which are cut into passages. Finds passages by words and, where an encoder is available, by meaning. */
export interface Retriever {
  /**
   * Adds documents with different ids, or replaces all passages of the documents with these ids at once. Resolves when the passages can be
   * found by their words; vectors follow in the background. Many documents are added faster in groups than one by one.
   */
  put(...documents: readonly SearchDocument[]): Promise<void>
  /** Ids that are not in the index are ignored. */
  remove(ids: readonly string[]): Promise<void>
  /** The version of each document in the index, by id. A large index is kept on disk, so documents may be in the index after a start. */
  versions(): ReadonlyMap<string, string>
  /** The best passages, best first; empty when nothing fits. Waits for the meaning of the query only for a bounded time. */
  search(query: string, options: RetrieverSearch): Promise<PassageHit[]>
  /** Starts to compute missing vectors in the background, as the first search does. Never called at a start: most starts need no encoder. */
  prepare(): void
  progress(): SearchProgress
  close(): Promise<void>
}

export interface Passage {
  heading: string
  text: string
  /** Stored with the passage and returned with a hit: a page number, an offset. */
  data?: JsonObject
}

export interface SearchDocument {
  id: string
  /** Changes whenever the content of the document changes. */
  version: string
  /** Words of the title count like words of each heading. */
  title?: string
  passages: readonly Passage[]
}

export interface RetrieverSearch {
  limit: number
  /**
   * Decides by id which documents are searched; default: all. Ranking and scores are computed over these documents alone, so that a score
   * reveals nothing about the others.
   */
  isVisible?(id: string): boolean
  signal?: AbortSignal
  /** Pays for the vector of the query; absent: whose documents these are. */
  meter?: ModelMeter | undefined
}

export interface PassageHit extends Passage {
  /** Id of the document. */
  document: string
  /** Index of the passage in the document. */
  position: number
  /** From 0 to 1: the part of the query that the passage answers, by words and meaning. Comparable between queries. */
  score: number
}

/** How far a retriever is. `embedded` counts passages with a vector; passages in a language that the encoder does not know need none. */
export interface SearchProgress {
  name: string
  /** What people call the index. */
  label?: string
  documents: number
  passages: number
  embedded: number
  /**
   * `words`: there is no encoder, passages are found by their words. `waiting`: vectors are missing, and are computed after the first
   * search. `indexing`: vectors are being computed. `ready`: no vector is missing. `failed`: the encoder fails, and is tried again later.
   */
  state: 'words' | 'waiting' | 'indexing' | 'ready' | 'failed'
  /** Name of the encoder. */
  encoder?: string
  /** The reason of `failed`. */
  reason?: string
}

/** Opens the retrievers of a service. */
export interface Search {
  /**
   * Opens the retriever with the given name, which identifies the data on disk. Users of a name share the retriever until the last user
   * closes the retriever.
   */
  open(name: string, options?: OpenOptions): Promise<Retriever>
  progress(): SearchProgress[]
  close(): Promise<void>
}

export interface OpenOptions {
  /** Keeps all passages in memory: the index is not needed after a restart. */
  isTransient?: boolean
  /** What people call the index at the moment. */
  label?(): string
  /** The tenant that owns the documents and pays for the vectors; absent: the service. */
  tenant?: string
}

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
