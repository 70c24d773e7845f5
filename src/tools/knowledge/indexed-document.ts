import type { Metadata } from '../../files/document.ts'
import { toPassage } from '../../knowledge/passages.ts'
import type { SearchDocument } from '../../search/retriever.ts'
import type { StoredDocument } from './document-store.ts'
import type { FileOnDisk } from './files-on-disk.ts'

/** A file of the index. */
export interface IndexedDocument {
  /** Relative to the files root. */
  file: string
  /** Path relative to the files root with links resolved. */
  target: string
  metadata: Metadata
  headings: string[]
}

/** A file that was read, or cannot be read, on its way into the index. */
export interface LoadedFile {
  file: FileOnDisk
  document?: StoredDocument
  /** Why the file cannot be searched: until it changes if the fault is lasting, otherwise until the next scan. */
  fault?: { reason: string; isLasting: boolean }
}

/** A file that the index knows. */
export type IndexEntry = IndexedDocument & Omit<FileOnDisk, 'absolute'> & { fault?: string }

/** Characters of the passages. */
export function sizeOf({ document }: LoadedFile): number {
  return document?.passages.reduce((sum, { text }) => sum + text.length, 0) ?? 0
}

export function toSearchDocument({ id, version, metadata, passages }: StoredDocument & { id: string }): SearchDocument {
  return { id, version, title: String(metadata['title'] ?? ''), passages: passages.map(toPassage) }
}

export function toEntry({ file: { file, target, mtimeMs, size }, document, fault }: LoadedFile): IndexEntry {
  const headings = new Set(document?.passages.map(({ heading }) => heading).filter(Boolean))
  const entry = { file, target, mtimeMs, size, metadata: document?.metadata ?? {}, headings: [...headings] }
  if (!fault) return entry
  // No file has a negative time: it counts as changed.
  return { ...entry, fault: fault.reason, ...(!fault.isLasting && { mtimeMs: -1 }) }
}
