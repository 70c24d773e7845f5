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
import { inGroups, type GroupWork } from '../../knowledge/in-groups.ts'
import { toSection } from '../../knowledge/passages.ts'
import type { Retriever, RetrieverSearch, Search } from '../../search/retriever.ts'
import {
  createDocumentStore,
  type DocumentStore,
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
  const { files, patterns, search, label } = options
  const { globs } = createPatterns(patterns)
  const identity = createHash('sha256')
    .update(JSON.stringify([files.path, globs]))
    .digest('hex')
    .slice(0, 24)
  const name = `knowledge-${identity}`
  return new DocumentIndex(name, options, await search.open(name, { label }))
}

/** A search index of the documents which match patterns, kept up to date with changes on disk. */
export class DocumentIndex {
  private readonly options: DocumentIndexOptions
  private readonly retriever: Retriever
  private readonly patterns: ReturnType<typeof createPatterns>
  private readonly present: ReturnType<typeof createFileSet>
  private readonly store: DocumentStore
  private readonly entries = new Map<string, IndexEntry>()
  private queue: FileOnDisk[] = []
  private waiting = 0
  private isListed = false
  private scanMs = 0
  private total = 0
  private refreshing: Promise<void> | undefined
  private validUntil = -Infinity
  /** Monotonic milliseconds. */
  private waitUntil = 0
  private isClosed = false

  constructor(name: string, options: DocumentIndexOptions, retriever: Retriever) {
    const { files, patterns, cacheDir, now } = options
    this.options = options
    this.retriever = retriever
    this.patterns = createPatterns(patterns)
    this.present = createFileSet(files.path, { globs: this.patterns.globs, now })
    this.store = createDocumentStore(path.join(cacheDir, name))
  }

  /**
   * Indexes new and changed files and drops removed files. Cheap when repeated within seconds. Resolves `waitMs` after the work has begun at
   * the latest, or at once where scans of the files take long; the work goes on in the background.
   */
  async refresh(waitMs: number): Promise<void> {
    const { now, log } = this.options
    if (this.isClosed || (!this.refreshing && now() < this.validUntil)) return
    if (!this.refreshing) {
      this.refreshing = this.scanAndUpdate().finally(() => (this.refreshing = undefined))
      this.waitUntil = performance.now() + (this.isListed && this.scanMs > maxScanWaitMs ? 0 : waitMs)
    }
    const scan = this.refreshing
    // Later searches do not wait again for work that takes long.
    if (await settlesWithin(scan, Math.max(0, this.waitUntil - performance.now()))) return scan
    scan.catch((err: unknown) => log.warn({ err }, 'Documents cannot be indexed'))
  }

  /** The best passages of the documents for which `isVisible` is true. Other documents have no influence on the result. */
  async search(
    query: string,
    isVisible: (document: IndexedDocument) => boolean,
    options: Omit<RetrieverSearch, 'isVisible'>,
  ): Promise<Found[]> {
    const isVisibleId = (id: string) => {
      const entry = this.entries.get(id)
      return entry !== undefined && isVisible(entry)
    }
    const hits = await this.retriever.search(query, { ...options, isVisible: isVisibleId })
    return hits.flatMap((hit) => {
      const document = this.entries.get(hit.document)
      return document ? [{ document, passage: toSection(hit), score: hit.score }] : []
    })
  }

  /** A file that a search finds; undefined for another name, and for a file that is gone. */
  async read(file: string): Promise<{ document: IndexedDocument; passages: Section[] } | undefined> {
    const entry = this.entries.get(file)
    const absolute = entry && entry.fault === undefined ? await this.options.files.resolve(file).catch(() => undefined) : undefined
    return entry && absolute !== undefined
      ? { document: entry, passages: (await this.store.load(file, absolute, entry)).passages }
      : undefined
  }

  documents(): Iterable<IndexedDocument> {
    return this.entries.values()
  }

  state(): IndexState {
    const { isListed, total, waiting } = this
    const faults = [...this.entries.values()].flatMap(({ file, fault }) => (fault === undefined ? [] : [{ file, reason: fault }]))
    return { isListed, total, waiting, faults }
  }

  /** True if the index reads the file, under any name and with the current targets of links. */
  readsFile(relative: string): boolean {
    return this.patterns.matches(relative) || this.present.has(relative)
  }

  async close(): Promise<void> {
    this.isClosed = true
    await this.refreshing?.catch(() => undefined)
    await this.retriever.close()
  }

  private async scanAndUpdate(): Promise<void> {
    const { files, now } = this.options
    const startedAt = now()
    const onDisk = await findFilesOnDisk(files, this.patterns.globs)
    this.scanMs = now() - startedAt
    this.total = onDisk.length
    await this.removeOthers(onDisk)
    this.queue = onDisk.filter((file) => !isSameFile(this.entries.get(file.file), file)).toReversed()
    this.waiting = this.queue.length
    this.isListed = true
    const work: GroupWork<FileOnDisk, LoadedFile> = {
      next: () => (this.isClosed ? undefined : this.queue.pop()),
      load: (file) => this.load(file),
      sizeOf,
      finish: (group) => this.publish(group),
    }
    await Promise.all(Array.from({ length: concurrency }, () => inGroups(work))).finally(() => (this.queue = []))
    this.validUntil = now() + Math.min(maxValidMs, Math.max(minValidMs, this.scanMs * validPerScan))
  }

  private async removeOthers(onDisk: readonly FileOnDisk[]): Promise<void> {
    const { entries, retriever } = this
    const names = new Set(onDisk.map(({ file }) => file))
    const removed = [...entries.keys()].filter((file) => !names.has(file))
    const hasOtherFiles = removed.length > 0 || onDisk.some(({ file }) => !entries.has(file))
    for (const file of removed) entries.delete(file)
    await retriever.remove([...retriever.versions().keys()].filter((file) => !names.has(file)))
    if (hasOtherFiles) await this.store.keepOnly(names)
  }

  private async load(file: FileOnDisk): Promise<LoadedFile> {
    try {
      return { file, document: await this.store.load(file.file, file.absolute, file) }
    } catch (error) {
      const reason = messageOf(error)
      if (!this.isClosed) this.options.log.warn({ file: file.file, reason }, 'A document cannot be searched')
      return { file, fault: { reason, isLasting: error instanceof DocumentFault } }
    }
  }

  private async publish(group: readonly LoadedFile[]): Promise<void> {
    if (this.isClosed) return
    await this.retriever.remove(group.flatMap(({ file, fault }) => (fault ? [file.file] : [])))
    const documents = group.flatMap(({ file, document }) => (document ? [{ id: file.file, ...document }] : []))
    const changed = documents.filter(({ id, version }) => this.retriever.versions().get(id) !== version)
    // Hidden meanwhile: new text must not be found under old metadata.
    for (const { id } of changed) this.entries.delete(id)
    await this.retriever.put(...changed.map(toSearchDocument))
    for (const loaded of group) this.entries.set(loaded.file.file, toEntry(loaded))
    this.waiting -= group.length
  }
}
