import { createHash } from 'node:crypto'
import { settlesWithin } from '../concurrency/settles-within.ts'
import type { Search, Retriever, SearchDocument } from '../search/retriever.ts'
import type { KnowledgeStore, TenantDocuments, TenantSearch, Changes, ReadyDocument, TenantResult } from './knowledge-store.ts'
import { type PassageFiles, toPassage, toSection } from './passages.ts'
import type { Section } from '../files/document.ts'
import { inGroups, type GroupWork } from './in-groups.ts'

interface OpenIndex {
  index: Promise<TenantIndex>
  /** Searches that run. */
  users: number
  /** Monotonic milliseconds: searches do not wait for new documents after this time, until nothing new is left. */
  waitUntil: number | undefined
}

interface TenantIndexesOptions {
  store: KnowledgeStore
  passages: PassageFiles
  search: Search
  /** Tenants whose indexes stay open. */
  maxOpen?: number
  /** Milliseconds that a search waits for new documents. */
  maxWaitMs?: number
  onFault(error: unknown): void
}

/**
 * The indexes of tenants in the process. The first search of a tenant opens the tenant's index; the most recently used indexes stay
 * open.
 */
export function createTenantIndexes(options: TenantIndexesOptions): TenantDocuments & { close(): Promise<void> } {
  const { store, passages, search, maxOpen = 32, maxWaitMs = 2_000, onFault } = options
  /** A Map keeps insertion order, so the first tenant is the least recently used. */
  const open = new Map<string, OpenIndex>()
  const closing = new Map<string, Promise<void>>()

  async function openIndex(tenant: string): Promise<TenantIndex> {
    await closing.get(tenant)
    const name = `uploads-${createHash('sha256').update(tenant).digest('hex').slice(0, 24)}`
    return new TenantIndex(tenant, { store, passages, onFault, retriever: await search.open(name, { tenant }) })
  }

  function acquire(tenant: string): OpenIndex {
    const opened = open.get(tenant) ?? { index: openIndex(tenant), users: 0, waitUntil: undefined }
    opened.users++
    open.delete(tenant)
    open.set(tenant, opened)
    return opened
  }

  function release(opened: OpenIndex): void {
    opened.users--
    for (const [tenant, { users, index }] of open) {
      if (open.size <= maxOpen) return
      if (users > 0) continue
      open.delete(tenant)
      const closed = index.then((idle) => idle.close()).catch(onFault)
      closing.set(tenant, closed)
      void closed.finally(() => closing.get(tenant) === closed && closing.delete(tenant))
    }
  }

  async function follow(tenant: string, opened: OpenIndex): Promise<{ index: TenantIndex; unfinished: number }> {
    const changes = await store.changes(tenant)
    const index = await opened.index
    const { added } = await index.follow(changes)
    opened.waitUntil ??= performance.now() + maxWaitMs
    if (await settlesWithin(added, Math.max(0, opened.waitUntil - performance.now()))) opened.waitUntil = undefined
    return { index, unfinished: changes.unfinished }
  }

  /** Runs `work` with the index of a tenant, after new documents were added and removed ones dropped. */
  async function withIndex<T>(tenant: string, work: (index: TenantIndex, unfinished: number) => Promise<T>): Promise<T> {
    const opened = acquire(tenant)
    try {
      const { index, unfinished } = await follow(tenant, opened)
      return await work(index, unfinished)
    } catch (error) {
      // An index that cannot be opened is opened again by the next search.
      opened.index.catch(() => open.get(tenant) === opened && open.delete(tenant))
      throw error
    } finally {
      release(opened)
    }
  }

  return {
    search: (tenant, query, options) =>
      withIndex(tenant, async (index, unfinished) => ({
        hits: await index.search(query, options),
        waiting: unfinished + (await index.waiting()),
      })),
    read: (tenant, id) => withIndex(tenant, (index) => index.read(id)),
    async close() {
      await Promise.all([...open.values()].map(async ({ index }) => (await index.catch(() => undefined))?.close()))
      await Promise.all(closing.values())
    },
  }
}

interface TenantIndexDependencies {
  store: KnowledgeStore
  passages: PassageFiles
  retriever: Retriever
  onFault(error: unknown): void
}

interface LoadedDocument {
  document: ReadyDocument
  /** Undefined for a document that the retriever has. */
  sections: Section[] | undefined
}

/** Documents that are loaded at the same time: a store in the network takes its time for each. */
const concurrency = 4
/** Documents whose rows are read at a time. */
const pageSize = 200

/** The index of a tenant's documents in the process. The index follows the changes of all processes. */
class TenantIndex {
  private readonly documents = new Map<string, ReadyDocument>()
  /** Documents that the loader has read of the store and not added yet. */
  private readonly pending = new Map<string, ReadyDocument>()
  private revision = 0
  /** Documents after the revision that the loader works on. */
  private pageLength = 0
  /** Unknown at first: the retriever may hold documents that were removed while this process did not run. */
  private removals: number | undefined
  private adding: Promise<void> | undefined
  private isClosed = false
  private readonly tenant: string
  private readonly deps: TenantIndexDependencies

  constructor(tenant: string, deps: TenantIndexDependencies) {
    this.tenant = tenant
    this.deps = deps
  }

  /** Drops removed documents, and starts to add new ones. The promise in `added` never rejects. */
  async follow(changes: Changes): Promise<{ added: Promise<void> }> {
    if (changes.removals !== this.removals) {
      await this.dropRemoved()
      this.removals = changes.removals
    }
    if (changes.revision !== this.revision)
      this.adding ??= this.addNew()
        .catch(this.deps.onFault)
        .finally(() => (this.adding = undefined))
    return { added: this.adding ?? Promise.resolve() }
  }

  async search(query: string, { limit, signal, meter, isVisible }: TenantSearch): Promise<TenantResult['hits']> {
    const { documents } = this
    const newest = newestOf(documents.values().filter(isVisible))
    const isNewest = (id: string) => newest.get(documents.get(id)?.version ?? '')?.id === id
    const hits = await this.deps.retriever.search(query, { limit, signal, meter, isVisible: isNewest })
    return hits.flatMap((hit) => {
      const document = documents.get(hit.document)
      return document ? [{ document, passage: toSection(hit), score: hit.score }] : []
    })
  }

  async read(id: string): Promise<{ document: ReadyDocument; passages: Section[] } | undefined> {
    const document = this.documents.get(id)
    const passages = document && (await this.deps.passages.load(id))
    return passages && { document, passages }
  }

  /** Number of documents that are still to be added. */
  async waiting(): Promise<number> {
    if (!this.adding) return 0
    return Math.max(0, (await this.deps.store.countAfter(this.tenant, this.revision)) - this.pageLength + this.pending.size)
  }

  async close(): Promise<void> {
    this.isClosed = true
    await this.adding
    await this.deps.retriever.close()
  }

  private async dropRemoved(): Promise<void> {
    const { retriever, store } = this.deps
    const present = await store.ids(this.tenant)
    for (const id of [...this.documents.keys(), ...this.pending.keys()]) {
      if (present.has(id)) continue
      this.documents.delete(id)
      this.pending.delete(id)
    }
    await retriever.remove([...retriever.versions().keys()].filter((id) => !present.has(id)))
  }

  private async addNew(): Promise<void> {
    for (;;) {
      const page = await this.deps.store.readyAfter(this.tenant, this.revision, pageSize)
      for (const document of page) this.pending.set(document.id, document)
      this.pageLength = page.length
      const rest = page.values()
      const work: GroupWork<ReadyDocument, LoadedDocument> = {
        next: () => this.nextOf(rest),
        load: (document) => this.load(document),
        sizeOf,
        finish: (group) => this.add(group),
      }
      await Promise.all(Array.from({ length: concurrency }, () => inGroups(work)))
      if (this.isClosed) return
      this.revision = page.at(-1)?.revision ?? this.revision
      this.pageLength = 0
      if (page.length < pageSize) return this.deps.retriever.prepare()
    }
  }

  /** The next document that was not removed. */
  private nextOf(rest: Iterator<ReadyDocument>): ReadyDocument | undefined {
    for (let next = rest.next(); !next.done && !this.isClosed; next = rest.next()) if (this.pending.has(next.value.id)) return next.value
    return undefined
  }

  private async load(document: ReadyDocument): Promise<LoadedDocument> {
    const { id, version } = document
    const isIndexed = this.deps.retriever.versions().get(id) === version
    return { document, sections: isIndexed ? undefined : await this.deps.passages.load(id) }
  }

  private async add(group: readonly LoadedDocument[]): Promise<void> {
    const { pending, documents } = this
    await this.deps.retriever.put(...group.filter(({ document }) => pending.has(document.id)).flatMap(toSearchDocument))
    const removed: string[] = []
    for (const { document } of group) {
      // Removed while it was added.
      if (pending.delete(document.id)) documents.set(document.id, document)
      else removed.push(document.id)
    }
    await this.deps.retriever.remove(removed)
  }
}

/** The documents by content, of equal ones the newest: no search finds the same text twice. Ids grow with time. */
function newestOf(visible: Iterable<ReadyDocument>): Map<string, ReadyDocument> {
  const newest = new Map<string, ReadyDocument>()
  for (const document of visible) {
    const other = newest.get(document.version)
    if (!other || other.id < document.id) newest.set(document.version, document)
  }
  return newest
}

function toSearchDocument({ document: { id, name, version, metadata }, sections }: LoadedDocument): SearchDocument[] {
  return sections ? [{ id, version, title: String(metadata['title'] ?? name), passages: sections.map(toPassage) }] : []
}

function sizeOf({ sections = [] }: LoadedDocument): number {
  return sections.reduce((sum, { text }) => sum + text.length, 0)
}
