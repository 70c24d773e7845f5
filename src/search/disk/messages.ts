import type { PassageHit, SearchDocument } from '../retriever.ts'
import type { TierCounts, UnembeddedText } from '../tier.ts'

/** Questions to the process of an index on disk, and their answers. Each names the file of its index. */
export type Question = { file: string } & Request

export type Request =
  | { kind: 'open' }
  | { kind: 'close' }
  | { kind: 'put'; documents: readonly SearchDocument[] }
  | { kind: 'remove'; ids: readonly string[] }
  | { kind: 'search'; query: string; limit: number; visible: Uint8Array | undefined; vector: SentVector | undefined }
  | { kind: 'missing'; encoder: string; limit: number }
  | { kind: 'set'; encoder: string; hashes: readonly string[]; vectors: readonly (Uint8Array | null)[] }

/** The values as signed bytes. */
export interface SentVector {
  encoder: string
  values: Uint8Array
}

export interface Opened {
  documents: { number: number; id: string; version: string }[]
  counts: TierCounts
  encoder: string | undefined
}

export interface Changed {
  /** Hashes of texts that no document has any longer. */
  hashes: string[]
  /** The numbers of the documents that were put. */
  numbers?: number[]
  counts: TierCounts
}

export type Answer = { error: string } | { opened: Opened } | { changed: Changed } | { hits: PassageHit[] } | { texts: UnembeddedText[] }
