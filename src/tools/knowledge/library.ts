import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Metadata, Section } from '../../files/document.ts'
import { createPatterns } from '../../files/patterns.ts'
import type { FilesRoot } from '../../files/root.ts'
import { toRelative } from '../file-access.ts'
import { createPassageIndex } from './bm25.ts'
import { createDocumentStore, type StoredDocument } from './document-store.ts'

/** The documents that match patterns, searchable, kept up with what changes on disk. */
export interface Library {
  /** Notices new, changed and removed files; cheap when asked again within seconds. */
  refresh(): Promise<void>
  /** The best passages of the files that `isOpen` lets through; no other file is looked at. */
  search(query: string, isOpen: (book: Book) => boolean, limit: number): Find[]
  books(): Iterable<Book>
  /** Whether the library reads from a file, under whatever name. */
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

interface Shelved extends Book {
  mtimeMs: number
  size: number
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
/** Indexed between two turns of the event loop: some 10 ms of work. */
const passagesAtOnce = 100

export function createLibrary({ files, patterns, cacheDir, log, now }: LibraryOptions): Library {
  const { globs, matches } = createPatterns(patterns)
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
  async function shelve(file: string, target: string, stamp: { mtimeMs: number; size: number }, document: StoredDocument): Promise<void> {
    const headings = [...new Set(document.passages.map(({ heading }) => heading).filter(Boolean))]
    const book: Shelved = { file, target, ...stamp, metadata: document.metadata, headings, passages: new Map() }
    const known = shelf.get(file)
    for (const passage of document.passages) {
      book.passages.set(index.add(`${passage.heading} ${document.metadata['title'] ?? ''}`, passage.text), passage)
      if (book.passages.size % passagesAtOnce === 0) await setImmediate()
    }
    if (known) remove(known)
    shelf.set(file, book)
    for (const [id, passage] of book.passages) passages.set(id, { book, passage })
  }

  async function update(file: string): Promise<void> {
    const absolute = await files.resolve(file)
    const { mtimeMs, size } = await stat(absolute)
    const known = shelf.get(file)
    const target = toRelative(files, absolute)
    if (known?.mtimeMs === mtimeMs && known.size === size && known.target === target) return
    const stamp = { mtimeMs, size }
    try {
      await shelve(file, target, stamp, await store.load(file, absolute, stamp))
    } catch (error) {
      log.warn({ file, reason: (error as Error).message }, 'A document can not be searched')
      // On the shelf without passages, so that it is not tried again before it changes.
      await shelve(file, target, stamp, { passages: [], metadata: {} })
    }
  }

  async function look(): Promise<void> {
    const started = now()
    const found = await files.list(globs)
    const there = new Set(found)
    const gone = [...shelf.values()].filter(({ file }) => !there.has(file))
    gone.forEach(remove)
    let isNew = gone.length > 0
    for (const file of found) {
      if (closed) return
      isNew ||= !shelf.has(file)
      // A file that goes away between two looks is met at the next.
      await update(file).catch(() => undefined)
    }
    if (isNew) await store.keepOnly(found)
    believedUntil = now() + Math.max(believedMs, (now() - started) * believedPerLook)
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
    readsFile: (relative) => matches(relative) || [...shelf.values()].some(({ target }) => target === relative),
    async close() {
      closed = true
      await looking?.catch(() => undefined)
    },
  }
}
