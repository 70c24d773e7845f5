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

/** A search index of the documents which match patterns, kept up to date with changes on disk. */
export interface DocumentIndex {
  /** Indexes new and changed files and drops removed files. Cheap when repeated within seconds. */
  refresh(): Promise<void>
  /** The best passages of the documents for which `isVisible` is true. Other documents have no influence on the result. */
  search(query: string, isVisible: (document: IndexedDocument) => boolean, limit: number): PassageHit[]
  documents(): Iterable<IndexedDocument>
  /** True if the index reads the file, under any name and with the current targets of links. */
  readsFile(relative: string): boolean
  close(): Promise<void>
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

export interface PassageHit {
  document: IndexedDocument
  passage: Section
  score: number
}

/** A file found on disk. */
interface FileOnDisk extends FileStamp {
  file: string
  target: string
  absolute: string
}

interface IndexEntry extends IndexedDocument, FileStamp {
  passages: Map<number, Section>
}

export interface DocumentIndexOptions {
  files: FilesRoot
  patterns: readonly string[]
  cacheDir: string
  log: Logger
  /** Epoch milliseconds. */
  now(): number
}

/** How long a scan of the disk stays valid: longer after a slow scan, so that scans never dominate the load. */
const minValidMs = 3_000
const validPerScan = 10
const maxValidMs = 60_000
/** Passages indexed in a turn of the event loop, about 10 ms of work. */
const passagesPerTurn = 100

export function createDocumentIndex({ files, patterns, cacheDir, log, now }: DocumentIndexOptions): DocumentIndex {
  const { globs, matches } = createPatterns(patterns)
  const present = createFileSet(files.path, { globs, now })
  const identity = createHash('sha256')
    .update(JSON.stringify([files.path, globs]))
    .digest('hex')
    .slice(0, 24)
  const store = createDocumentStore(path.join(cacheDir, `knowledge-${identity}`))
  const index = createPassageIndex()
  const entries = new Map<string, IndexEntry>()
  const passages = new Map<number, { document: IndexEntry; passage: Section }>()
  let refreshing: Promise<void> | undefined
  let validUntil = -Infinity
  let closed = false

  function remove(entry: IndexEntry): void {
    index.remove([...entry.passages.keys()])
    for (const id of entry.passages.keys()) passages.delete(id)
    entries.delete(entry.file)
  }

  /** Publishes all passages of a document at once, so that no search sees half of a document. */
  async function addDocument({ file, target, mtimeMs, size }: FileOnDisk, document: StoredDocument): Promise<void> {
    const headings = [...new Set(document.passages.map(({ heading }) => heading).filter(Boolean))]
    const entry: IndexEntry = { file, target, mtimeMs, size, metadata: document.metadata, headings, passages: new Map() }
    for (const passage of document.passages) {
      entry.passages.set(index.add(`${passage.heading} ${document.metadata['title'] ?? ''}`, passage.text), passage)
      if (entry.passages.size % passagesPerTurn === 0) await setImmediate()
    }
    const previous = entries.get(file)
    if (previous) remove(previous)
    entries.set(file, entry)
    for (const [id, passage] of entry.passages) passages.set(id, { document: entry, passage })
  }

  async function update(file: FileOnDisk): Promise<void> {
    const indexed = entries.get(file.file)
    if (indexed?.mtimeMs === file.mtimeMs && indexed.size === file.size && indexed.target === file.target) return
    try {
      await addDocument(file, await store.load(file.file, file.absolute, file))
    } catch (error) {
      log.warn({ file: file.file, reason: (error as Error).message }, 'A document cannot be searched')
      // Indexed without passages, so that the file is not read again until it changes.
      await addDocument(file, { passages: [], metadata: {} })
    }
  }

  async function scan(): Promise<FileOnDisk[]> {
    const onDisk: FileOnDisk[] = []
    for (const file of await files.list(globs)) {
      // Skip a file removed during the scan.
      const absolute = await files.resolve(file).catch(() => undefined)
      const stats = absolute !== undefined && (await stat(absolute).catch(() => undefined))
      if (stats) onDisk.push({ file, absolute, target: toRelative(files, absolute), mtimeMs: stats.mtimeMs, size: stats.size })
    }
    return onDisk
  }

  async function scanAndUpdate(): Promise<void> {
    const startedAt = now()
    const onDisk = await scan()
    const validMs = Math.min(maxValidMs, Math.max(minValidMs, (now() - startedAt) * validPerScan))
    const currentNames = new Set(onDisk.map(({ file }) => file))
    const removed = [...entries.values()].filter(({ file }) => !currentNames.has(file))
    const hasOtherFiles = removed.length > 0 || onDisk.some(({ file }) => !entries.has(file))
    removed.forEach(remove)
    for (const file of onDisk) {
      if (closed) return
      await update(file)
    }
    if (hasOtherFiles) await store.keepOnly(currentNames)
    validUntil = now() + validMs
  }

  return {
    async refresh() {
      if (closed || (!refreshing && now() < validUntil)) return
      refreshing ??= scanAndUpdate().finally(() => (refreshing = undefined))
      await refreshing
    },
    search(query, isVisible, limit) {
      const visible = [...entries.values()].filter(isVisible)
      const candidates = visible.flatMap((entry) => [...entry.passages.keys()])
      return index.search(query, candidates, limit).flatMap(({ id, score }) => {
        const match = passages.get(id)
        return match ? [{ ...match, score }] : []
      })
    },
    documents: () => entries.values(),
    readsFile: (relative) => matches(relative) || present.has(relative),
    async close() {
      closed = true
      await refreshing?.catch(() => undefined)
    },
  }
}
