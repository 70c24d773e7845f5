import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Metadata, Section } from '../../files/document.ts'
import { maxDocumentBytes } from '../../files/document-kind.ts'
import { readDocument } from '../../files/document-text.ts'
import { writeWhole } from '../../files/write-whole.ts'
import { toPassages } from './passages.ts'

/** The parts of a document needed for a search. */
export interface StoredDocument {
  passages: Section[]
  metadata: Metadata
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

interface StoredEntry extends FileStamp, StoredDocument {
  format: typeof format
  relative: string
  hash: string
}

/** Must be increased when the cutting of passages or the reading of documents changes, which invalidates stored documents. */
const format = 1

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

  async function save(entry: StoredEntry): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const target = path.join(folder, nameOf(entry.relative))
    await writeWhole(target, JSON.stringify(entry))
  }

  return {
    async load(relative, absolute, { mtimeMs, size }) {
      const stored = await find(relative)
      if (stored?.mtimeMs === mtimeMs && stored.size === size) return stored
      const hash = size > maxDocumentBytes ? '' : await hashOf(absolute)
      // Same content with a new date, for instance after a copy or a checkout.
      const unchanged = stored && stored.hash === hash ? stored : undefined
      const { sections, metadata } = unchanged ? { sections: [], ...unchanged } : await read(absolute)
      const fresh = {
        format,
        relative,
        mtimeMs,
        size,
        hash,
        metadata,
        passages: unchanged?.passages ?? toPassages(sections),
      } satisfies StoredEntry
      await save(fresh)
      return fresh
    },
    async keepOnly(relatives) {
      const currentNames = new Set([...relatives].map(nameOf))
      const names = await readdir(folder).catch(() => [])
      await Promise.all(names.filter((name) => !currentNames.has(name)).map((name) => removeStale(path.join(folder, name))))
    },
  }
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
    stored?.format === format &&
    typeof stored.metadata === 'object' &&
    stored.metadata !== null &&
    Array.isArray(stored.passages) &&
    stored.passages.every((passage) => typeof passage?.heading === 'string' && typeof passage.text === 'string')
  )
}
