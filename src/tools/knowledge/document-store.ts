import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Metadata, Section } from '../../files/document.ts'
import { maxDocumentBytes } from '../../files/document-kind.ts'
import { DocumentFault, readDocument } from '../../files/document-text.ts'
import { writeWhole } from '../../files/write-whole.ts'
import { passageFormat, toPassages } from '../../knowledge/passages.ts'

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

export interface DocumentStore {
  /** Returns the stored document of an unchanged file, or else reads the file again. Throws like `readDocument`. */
  load(relative: string, absolute: string, stamp: FileStamp): Promise<StoredDocument>
  /** Deletes the stored documents of all other files. */
  keepOnly(relatives: Iterable<string>): Promise<void>
}

interface StoredEntry extends FileStamp, Omit<StoredDocument, 'version'> {
  format: typeof passageFormat
  relative: string
  hash: string
  /** Why the document cannot be read. */
  fault?: string
}

/** Stores each document as a file in `folder`. Reading a PDF takes a thousand times longer than reading its stored passages. */
export function createDocumentStore(folder: string, read = readDocument): DocumentStore {
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
    async load(relative, absolute, { mtimeMs, size }) {
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
    async keepOnly(relatives) {
      const currentNames = new Set([...relatives].map(nameOf))
      const names = await readdir(folder).catch(() => [])
      await Promise.all(names.filter((name) => !currentNames.has(name)).map((name) => removeStale(path.join(folder, name))))
    },
  }
}

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
