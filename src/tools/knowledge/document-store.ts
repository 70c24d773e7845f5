import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readFile, readdir, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { maxDocumentBytes } from '../../files/document-kind.ts'
import { readDocument, DocumentFault } from '../../files/document-text.ts'
import type { Metadata, Section } from '../../files/document.ts'
import { createPatterns } from '../../files/patterns.ts'
import type { FilesRoot, FoundFile } from '../../files/root.ts'
import { writeWhole } from '../../files/write-whole.ts'
import { passageFormat, toPassage, toPassages } from '../../knowledge/passages.ts'
import type { SearchDocument } from '../../search/retriever.ts'
import { toRelative } from '../files/files.ts'

/** The parts of a document needed for a search. */
export interface StoredDocument {
  passages: Section[]
  metadata: Metadata
  /** Changes with the content, and with the cutting of passages. */
  version: string
}

export interface FileStamp {
  mtimeMs: number
  size: number
}

interface StoredEntry extends FileStamp, Omit<StoredDocument, 'version'> {
  format: typeof passageFormat
  relative: string
  hash: string
  /** Why the document cannot be read. */
  fault?: string
}

/** Stores each document as a file in `folder`. Reading a PDF takes a thousand times longer than reading its stored passages. */
export function createDocumentStore(folder: string, read = readDocument) {
  const nameOf = (relative: string) => `${createHash('sha256').update(relative).digest('hex')}.json`

  /** Returns undefined for a missing or damaged entry, which is then created again. */
  async function find(relative: string): Promise<StoredEntry | undefined> {
    try {
      const entry: unknown = JSON.parse(await readFile(path.join(folder, nameOf(relative)), 'utf8'))
      return isStoredEntry(entry) && entry.relative === relative ? entry : undefined
    } catch {
      return undefined
    }
  }

  /** A fault is stored as well: a document that ends its parser must not do so at each start. */
  async function readPassages(absolute: string): Promise<Pick<StoredEntry, 'passages' | 'metadata' | 'fault'>> {
    try {
      const { sections, metadata } = await read(absolute)
      return { passages: toPassages(sections), metadata }
    } catch (error) {
      if (error instanceof DocumentFault) return { passages: [], metadata: {}, fault: error.message }
      throw error
    }
  }

  async function save(entry: StoredEntry): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const target = path.join(folder, nameOf(entry.relative))
    await writeWhole(target, JSON.stringify(entry))
  }

  return {
    /** Returns the stored document of an unchanged file, or else reads the file again. Throws like `readDocument`. */
    async load(relative: string, absolute: string, { mtimeMs, size }: FileStamp): Promise<StoredDocument> {
      const stored = await find(relative)
      if (stored?.mtimeMs === mtimeMs && stored.size === size) return toDocument(stored)
      const hash = size > maxDocumentBytes ? '' : await hashOf(absolute)
      // Same content with a new date, for instance after a copy or a checkout.
      const unchanged = stored && stored.hash === hash ? stored : undefined
      const content = unchanged ?? (await readPassages(absolute))
      const fresh: StoredEntry = { ...content, format: passageFormat, relative, mtimeMs, size, hash }
      await save(fresh)
      return toDocument(fresh)
    },
    /** Deletes the stored documents of all other files. */
    async keepOnly(relatives: Iterable<string>): Promise<void> {
      const currentNames = new Set([...relatives].map(nameOf))
      const names = await readdir(folder).catch(() => [])
      await Promise.all(names.filter((name) => !currentNames.has(name)).map((name) => removeStale(path.join(folder, name))))
    },
  }
}

export type DocumentStore = ReturnType<typeof createDocumentStore>

function toDocument({ passages, metadata, hash, fault }: StoredEntry): StoredDocument {
  if (fault !== undefined) throw new DocumentFault(fault)
  return { passages, metadata, version: `${passageFormat}-${hash}` }
}

/** Deletes a file, except a recent draft, which another process may be about to rename. */
async function removeStale(file: string): Promise<void> {
  const age = file.endsWith('.json') ? Infinity : Date.now() - (await stat(file).catch(() => ({ mtimeMs: 0 }))).mtimeMs
  if (age > 60_000) await rm(file, { force: true })
}

async function hashOf(absolute: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(absolute), hash)
  return hash.digest('hex')
}

function isStoredEntry(value: unknown): value is StoredEntry {
  const stored = value as Partial<StoredEntry> | null
  return (
    typeof stored === 'object' &&
    stored?.format === passageFormat &&
    typeof stored.metadata === 'object' &&
    stored.metadata !== null &&
    (stored.fault === undefined || typeof stored.fault === 'string') &&
    Array.isArray(stored.passages) &&
    stored.passages.every(
      (passage) => typeof passage?.heading === 'string' && typeof passage.text === 'string' && Number.isInteger(passage.start),
    )
  )
}

/** A file found on disk. */
export interface FileOnDisk extends FoundFile {
  /** Path relative to the files root with links resolved. */
  target: string
}

/** The files which match any glob. Files removed during the scan are left out. */
export async function findFilesOnDisk(files: FilesRoot, globs: readonly string[]): Promise<FileOnDisk[]> {
  return (await files.find(globs)).map((found) => ({ ...found, target: toRelative(files, found.absolute) }))
}

export function isSameFile(a: Omit<FileOnDisk, 'absolute'> | undefined, b: FileOnDisk): boolean {
  return a?.mtimeMs === b.mtimeMs && a.size === b.size && a.target === b.target
}

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

/** Documents read in search of text. The first documents are taken as representative. */
const maxRead = 20

/** The reason why a search in `paths` cannot find anything, as the rest of a sentence after the field's name. Undefined if a document has text. */
export async function findKnowledgeFault(paths: readonly string[], files: FilesRoot): Promise<string | undefined> {
  const names = await files.list(createPatterns(paths).globs)
  if (names.length === 0) return `no file under ${files.path} matches ${paths.join(', ')}`
  for (const name of names.slice(0, maxRead)) {
    const document = await readDocument(await files.resolve(name)).catch(() => undefined)
    if (document?.text) return undefined
  }
  return names.length > maxRead ? undefined : `none of the ${names.length} files that match ${paths.join(', ')} has text to be searched`
}
