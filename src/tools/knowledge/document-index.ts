import { createHash } from 'node:crypto'
import path from 'node:path'
import type { Logger } from 'pino'
import { settlesWithin } from '../../concurrency/settles-within.ts'
import { messageOf } from '../../errors.ts'
import { DocumentFault } from '../../files/document-text.ts'
import type { Section } from '../../files/document.ts'
import { createFileSet } from '../../files/file-set.ts'
import { createPatterns } from '../../files/patterns.ts'
import type { FilesRoot } from '../../files/root.ts'
import { inGroups } from '../../knowledge/in-groups.ts'
import { toSection } from '../../knowledge/passages.ts'
import type { Search } from '../../search/retriever.ts'
import {
  createDocumentStore,
  findFilesOnDisk,
  isSameFile,
  sizeOf,
  toEntry,
  toSearchDocument,
  type FileOnDisk,
  type IndexEntry,
  type IndexedDocument,
  type LoadedFile,
} from './document-store.ts'

/** A search index of the documents which match patterns, kept up to date with changes on disk. */
export interface DocumentIndex {
  /**
   * Indexes new and changed files and drops removed files. Cheap when repeated within seconds. Resolves `waitMs` after the work has begun at
   * the latest, or at once where scans of the files take long; the work goes on in the background.
   */
  refresh(waitMs: number): Promise<void>
  /** The best passages of the documents for which `isVisible` is true. Other documents have no influence on the result. */
  search(
    query: string,
    isVisible: (document: IndexedDocument) => boolean,
    options: { limit: number; signal?: AbortSignal },
  ): Promise<Found[]>
  documents(): Iterable<IndexedDocument>
  state(): IndexState
  /** True if the index reads the file, under any name and with the current targets of links. */
  readsFile(relative: string): boolean
  close(): Promise<void>
}

/** A passage that a search has found. */
export interface Found {
  document: IndexedDocument
  passage: Section
  score: number
}

export interface IndexState {
  /** False until the files were listed for the first time. */
  isListed: boolean
  /** Files on disk at the last scan. */
  total: number
  /** Files that wait to be indexed. */
  waiting: number
  /** Files that cannot be searched. */
  faults: { file: string; reason: string }[]
}

export interface DocumentIndexOptions {
  files: FilesRoot
  patterns: readonly string[]
  cacheDir: string
  search: Search
  /** Names of the entries that use the index. */
  label(): string
  log: Logger
  /** Epoch milliseconds. */
  now(): number
}

/** How long a scan of the disk stays valid: longer after a slow scan, so that scans never dominate the load. */
const minValidMs = 3_000
const validPerScan = 10
const maxValidMs = 60_000
/** Milliseconds. A search waits for scans that take less; the changes that a longer scan finds are for the next search. */
const maxScanWaitMs = 100
/** Documents read at the same time: most of them wait for their parser. */
const concurrency = 2

export async function openDocumentIndex(options: DocumentIndexOptions): Promise<DocumentIndex> {
  const { files, patterns, cacheDir, search, label, log, now } = options
  const { globs, matches } = createPatterns(patterns)
  const present = createFileSet(files.path, { globs, now })
  const identity = createHash('sha256')
    .update(JSON.stringify([files.path, globs]))
    .digest('hex')
    .slice(0, 24)
  const name = `knowledge-${identity}`
  const store = createDocumentStore(path.join(cacheDir, name))
  const retriever = await search.open(name, { label })
  const entries = new Map<string, IndexEntry>()
  let queue: FileOnDisk[] = []
  let waiting = 0
  let isListed = false
  let scanMs = 0
  let total = 0
  let refreshing: Promise<void> | undefined
  let validUntil = -Infinity
  /** Monotonic milliseconds. */
  let waitUntil = 0
  let closed = false

  async function load(file: FileOnDisk): Promise<LoadedFile> {
    try {
      return { file, document: await store.load(file.file, file.absolute, file) }
    } catch (error) {
      const reason = messageOf(error)
      if (!closed) log.warn({ file: file.file, reason }, 'A document cannot be searched')
      return { file, fault: { reason, isLasting: error instanceof DocumentFault } }
    }
  }

  async function publish(group: readonly LoadedFile[]): Promise<void> {
    if (closed) return
    await retriever.remove(group.flatMap(({ file, fault }) => (fault ? [file.file] : [])))
    const documents = group.flatMap(({ file, document }) => (document ? [{ id: file.file, ...document }] : []))
    const changed = documents.filter(({ id, version }) => retriever.versions().get(id) !== version)
    // Hidden meanwhile: new text must not be found under old metadata.
    for (const { id } of changed) entries.delete(id)
    await retriever.put(...changed.map(toSearchDocument))
    for (const loaded of group) entries.set(loaded.file.file, toEntry(loaded))
    waiting -= group.length
  }

  async function removeOthers(onDisk: readonly FileOnDisk[]): Promise<void> {
    const names = new Set(onDisk.map(({ file }) => file))
    const removed = [...entries.keys()].filter((file) => !names.has(file))
    const hasOtherFiles = removed.length > 0 || onDisk.some(({ file }) => !entries.has(file))
    for (const file of removed) entries.delete(file)
    await retriever.remove([...retriever.versions().keys()].filter((file) => !names.has(file)))
    if (hasOtherFiles) await store.keepOnly(names)
  }

  async function scanAndUpdate(): Promise<void> {
    const startedAt = now()
    const onDisk = await findFilesOnDisk(files, globs)
    scanMs = now() - startedAt
    total = onDisk.length
    await removeOthers(onDisk)
    queue = onDisk.filter((file) => !isSameFile(entries.get(file.file), file)).toReversed()
    waiting = queue.length
    isListed = true
    const work = { next: () => (closed ? undefined : queue.pop()), load, sizeOf, finish: publish }
    await Promise.all(Array.from({ length: concurrency }, () => inGroups(work))).finally(() => (queue = []))
    validUntil = now() + Math.min(maxValidMs, Math.max(minValidMs, scanMs * validPerScan))
  }

  return {
    async refresh(waitMs) {
      if (closed || (!refreshing && now() < validUntil)) return
      if (!refreshing) {
        refreshing = scanAndUpdate().finally(() => (refreshing = undefined))
        waitUntil = performance.now() + (isListed && scanMs > maxScanWaitMs ? 0 : waitMs)
      }
      const scan = refreshing
      // Later searches do not wait again for work that takes long.
      if (await settlesWithin(scan, Math.max(0, waitUntil - performance.now()))) return scan
      scan.catch((err: unknown) => log.warn({ err }, 'Documents cannot be indexed'))
    },
    async search(query, isVisible, options) {
      const isVisibleId = (id: string) => {
        const entry = entries.get(id)
        return entry !== undefined && isVisible(entry)
      }
      const hits = await retriever.search(query, { ...options, isVisible: isVisibleId })
      return hits.flatMap((hit) => {
        const document = entries.get(hit.document)
        return document ? [{ document, passage: toSection(hit), score: hit.score }] : []
      })
    },
    documents: () => entries.values(),
    state: () => ({
      isListed,
      total,
      waiting,
      faults: [...entries.values()].flatMap(({ file, fault }) => (fault === undefined ? [] : [{ file, reason: fault }])),
    }),
    readsFile: (relative) => matches(relative) || present.has(relative),
    async close() {
      closed = true
      await refreshing?.catch(() => undefined)
      await retriever.close()
    },
  }
}
