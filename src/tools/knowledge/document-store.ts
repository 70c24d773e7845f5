import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Metadata, Section } from '../../files/document.ts'
import { maxDocumentBytes, readDocument } from '../../files/document-text.ts'
import { writeWhole } from '../../files/write-whole.ts'
import { toPassages } from './passages.ts'

/** What a search needs of a document. */
export interface StoredDocument {
  passages: Section[]
  metadata: Metadata
}

export interface FileStamp {
  mtimeMs: number
  size: number
}

export interface DocumentStore {
  /** What is kept of a file, as long as it has not changed; else reads it anew. Throws as `readDocument` does. */
  load(relative: string, absolute: string, stamp: FileStamp): Promise<StoredDocument>
  /** Forgets all files but these. */
  keepOnly(relatives: Iterable<string>): Promise<void>
}

interface Kept extends FileStamp, StoredDocument {
  format: typeof format
  relative: string
  hash: string
}

/** Another number when passages are cut or documents are read in another way: what was kept before is then of no use. */
const format = 1

/** A file for each document in `folder`: reading a PDF takes a thousand times longer than reading what was found in it. */
export function createDocumentStore(folder: string, read = readDocument): DocumentStore {
  const nameOf = (relative: string) => `${createHash('sha256').update(relative).digest('hex')}.json`

  /** Whatever is wrong with it, what can't be used is made again. */
  async function find(relative: string): Promise<Kept | undefined> {
    try {
      const kept: unknown = JSON.parse(await readFile(path.join(folder, nameOf(relative)), 'utf8'))
      return isKept(kept) && kept.relative === relative ? kept : undefined
    } catch {
      return undefined
    }
  }

  async function keep(kept: Kept): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const target = path.join(folder, nameOf(kept.relative))
    await writeWhole(target, JSON.stringify(kept))
  }

  return {
    async load(relative, absolute, { mtimeMs, size }) {
      const kept = await find(relative)
      if (kept?.mtimeMs === mtimeMs && kept.size === size) return kept
      const hash = size > maxDocumentBytes ? '' : await hashOf(absolute)
      // Copied or checked out again: the same content under a new date.
      const same = kept && kept.hash === hash ? kept : undefined
      const { sections, metadata } = same ? { sections: [], ...same } : await read(absolute)
      const fresh = { format, relative, mtimeMs, size, hash, metadata, passages: same?.passages ?? toPassages(sections) } satisfies Kept
      await keep(fresh)
      return fresh
    },
    async keepOnly(relatives) {
      const wanted = new Set([...relatives].map(nameOf))
      const names = await readdir(folder).catch(() => [])
      await Promise.all(names.filter((name) => !wanted.has(name)).map((name) => removeStale(path.join(folder, name))))
    },
  }
}

/** A draft of a moment ago may be another process's, about to be renamed. */
async function removeStale(file: string): Promise<void> {
  const age = file.endsWith('.json') ? Infinity : Date.now() - (await stat(file).catch(() => ({ mtimeMs: 0 }))).mtimeMs
  if (age > 60_000) await rm(file, { force: true })
}

async function hashOf(absolute: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(absolute), hash)
  return hash.digest('hex')
}

function isKept(value: unknown): value is Kept {
  const kept = value as Partial<Kept> | null
  return (
    typeof kept === 'object' &&
    kept?.format === format &&
    typeof kept.metadata === 'object' &&
    kept.metadata !== null &&
    Array.isArray(kept.passages) &&
    kept.passages.every((passage) => typeof passage?.heading === 'string' && typeof passage.text === 'string')
  )
}
