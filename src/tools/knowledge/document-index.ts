import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Metadata, Section } from '../../files/document.ts'
import { createFileSet } from '../../files/file-set.ts'
import { createPatterns } from '../../files/patterns.ts'
import type { FilesRoot } from '../../files/root.ts'
import { toRelative } from '../files/file-access.ts'
import { createPassageIndex } from '../../search/word-index.ts'
import { createDocumentStore, type FileStamp, type StoredDocument } from './document-store.ts'

/** The documents that match patterns, searchable, kept up with what changes on disk. */
export interface Library {
  /** Notices new, changed and removed files; cheap when asked again within seconds. */
  refresh(): Promise<void>
  /** The best passages of the files that `isOpen` lets through; no other file is looked at. */
  search(query: string, isOpen: (book: Book) => boolean, limit: number): Find[]
  books(): Iterable<Book>
  /** Whether the library reads from a file, under whatever name and wherever links lead now. */
  readsFile(relative: string): boolean
  close(): Promise<void>
}

/** One file of the library. */
export interface Book {
  /** Relative to the files root. */
  file: string
  /** The same, links resolved. */
  target: string
  metadata: Metadata
  headings: string[]
}

export interface Find {
  book: Book
  passage: Section
  score: number
}

/** A file as it lies on disk. */
interface Seen extends FileStamp {
  file: string
  target: string
  absolute: string
}

interface Shelved extends Book, FileStamp {
  passages: Map<number, Section>
}

export interface LibraryOptions {
  files: FilesRoot
  patterns: readonly string[]
  cacheDir: string
  log: Logger
  /** Epoch milliseconds. */
  now(): number
}

/** How long what was seen on disk is believed; longer where looking takes long, so that it never is most of the work. */
const believedMs = 3_000
const believedPerLook = 10
const longestBelievedMs = 60_000
/** Indexed between two turns of the event loop: some 10 ms of work. */
const passagesAtOnce = 100

export function createLibrary({ files, patterns, cacheDir, log, now }: LibraryOptions): Library {
  const { globs, matches } = createPatterns(patterns)
  const present = createFileSet(files.path, { globs, now })
  const identity = createHash('sha256')
    .update(JSON.stringify([files.path, globs]))
    .digest('hex')
    .slice(0, 24)
  const store = createDocumentStore(path.join(cacheDir, `knowledge-${identity}`))
  const index = createPassageIndex()
  const shelf = new Map<string, Shelved>()
  const passages = new Map<number, { book: Shelved; passage: Section }>()
  let looking: Promise<void> | undefined
  let believedUntil = -Infinity
  let closed = false

  function remove(book: Shelved): void {
    index.remove([...book.passages.keys()])
    for (const id of book.passages.keys()) passages.delete(id)
    shelf.delete(book.file)
  }

  /** Puts all passages of a document onto the shelf at once, so that no search meets half a document. */
  async function shelve({ file, target, mtimeMs, size }: Seen, document: StoredDocument): Promise<void> {
    const headings = [...new Set(document.passages.map(({ heading }) => heading).filter(Boolean))]
    const book: Shelved = { file, target, mtimeMs, size, metadata: document.metadata, headings, passages: new Map() }
    for (const passage of document.passages) {
      book.passages.set(index.add(`${passage.heading} ${document.metadata['title'] ?? ''}`, passage.text), passage)
      if (book.passages.size % passagesAtOnce === 0) await setImmediate()
    }
    const known = shelf.get(file)
    if (known) remove(known)
    shelf.set(file, book)
    for (const [id, passage] of book.passages) passages.set(id, { book, passage })
  }

  async function update(seen: Seen): Promise<void> {
    const known = shelf.get(seen.file)
    if (known?.mtimeMs === seen.mtimeMs && known.size === seen.size && known.target === seen.target) return
    try {
      await shelve(seen, await store.load(seen.file, seen.absolute, seen))
    } catch (error) {
      log.warn({ file: seen.file, reason: (error as Error).message }, 'A document can not be searched')
      // On the shelf without passages, so that it is not tried again before it changes.
      await shelve(seen, { passages: [], metadata: {} })
    }
  }

  async function survey(): Promise<Seen[]> {
    const seen: Seen[] = []
    for (const file of await files.list(globs)) {
      // One that goes away at this moment is not there.
      const absolute = await files.resolve(file).catch(() => undefined)
      const found = absolute !== undefined && (await stat(absolute).catch(() => undefined))
      if (found) seen.push({ file, absolute, target: toRelative(files, absolute), mtimeMs: found.mtimeMs, size: found.size })
    }
    return seen
  }

  async function look(): Promise<void> {
    const started = now()
    const seen = await survey()
    const believed = Math.min(longestBelievedMs, Math.max(believedMs, (now() - started) * believedPerLook))
    const there = new Set(seen.map(({ file }) => file))
    const gone = [...shelf.values()].filter(({ file }) => !there.has(file))
    const isOther = gone.length > 0 || seen.some(({ file }) => !shelf.has(file))
    gone.forEach(remove)
    for (const each of seen) {
      if (closed) return
      await update(each)
    }
    if (isOther) await store.keepOnly(there)
    believedUntil = now() + believed
  }

  return {
    async refresh() {
      if (closed || (!looking && now() < believedUntil)) return
      looking ??= look().finally(() => (looking = undefined))
      await looking
    },
    search(query, isOpen, limit) {
      const open = [...shelf.values()].filter(isOpen)
      const candidates = open.flatMap((book) => [...book.passages.keys()])
      return index.search(query, candidates, limit).flatMap(({ id, score }) => {
        const found = passages.get(id)
        return found ? [{ ...found, score }] : []
      })
    },
    books: () => shelf.values(),
    readsFile: (relative) => matches(relative) || present.has(relative),
    async close() {
      closed = true
      await looking?.catch(() => undefined)
    },
  }
}
