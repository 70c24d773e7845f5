import type { Section } from '../files/document.ts'
import type { Retriever, SearchDocument } from '../search/retriever.ts'
import { inGroups, type GroupWork } from './in-groups.ts'
import type { Changes, KnowledgeStore, ReadyDocument, TenantResult, TenantSearch } from './knowledge-store.ts'
import { toPassage, toSection, type PassageFiles } from './passages.ts'

export interface TenantIndexDependencies {
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

/** The index of one tenant's documents in this process. It follows the changes that all processes make. */
export class TenantIndex {
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

  async search(query: string, { limit, signal, isVisible }: TenantSearch): Promise<TenantResult['hits']> {
    const { documents } = this
    const newest = newestOf(documents.values().filter(isVisible))
    const isNewest = (id: string) => newest.get(documents.get(id)?.version ?? '')?.id === id
    const hits = await this.deps.retriever.search(query, { limit, signal, isVisible: isNewest })
    return hits.flatMap((hit) => {
      const document = documents.get(hit.document)
      return document ? [{ document, passage: toSection(hit), score: hit.score }] : []
    })
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
