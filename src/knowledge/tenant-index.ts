import type { Section } from '../files/document.ts'
import type { Retriever, SearchDocument } from '../search/retriever.ts'
import { inGroups } from './in-groups.ts'
import type { Changes, KnowledgeStore, ReadyDocument, TenantResult, TenantSearch } from './knowledge-store.ts'
import { toPassage, toSection, type PassageFiles } from './passages.ts'

export interface TenantIndexDependencies {
  store: KnowledgeStore
  passages: PassageFiles
  retriever: Retriever
  onFault(error: unknown): void
}

/** The index of one tenant's documents in this process. It follows the changes that all processes make. */
export interface TenantIndex {
  /** Drops removed documents, and starts to add new ones. The promise in `added` never rejects. */
  follow(changes: Changes): Promise<{ added: Promise<void> }>
  search(query: string, options: TenantSearch): Promise<TenantResult['hits']>
  /** Number of documents that are still to be added. */
  waiting(): Promise<number>
  close(): Promise<void>
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

export function createTenantIndex(tenant: string, { store, passages, retriever, onFault }: TenantIndexDependencies): TenantIndex {
  const documents = new Map<string, ReadyDocument>()
  /** Documents that the loader has read of the store and not added yet. */
  const pending = new Map<string, ReadyDocument>()
  let revision = 0
  /** Documents after the revision that the loader works on. */
  let pageLength = 0
  /** Unknown at first: the retriever may hold documents that were removed while this process did not run. */
  let removals: number | undefined
  let adding: Promise<void> | undefined
  let isClosed = false

  async function dropRemoved(): Promise<void> {
    const present = await store.ids(tenant)
    for (const id of [...documents.keys(), ...pending.keys()]) {
      if (present.has(id)) continue
      documents.delete(id)
      pending.delete(id)
    }
    await retriever.remove([...retriever.versions().keys()].filter((id) => !present.has(id)))
  }

  async function addNew(): Promise<void> {
    for (;;) {
      const page = await store.readyAfter(tenant, revision, pageSize)
      for (const document of page) pending.set(document.id, document)
      pageLength = page.length
      const rest = page.values()
      const work = { next: () => nextOf(rest), load, sizeOf, finish: add }
      await Promise.all(Array.from({ length: concurrency }, () => inGroups(work)))
      if (isClosed) return
      revision = page.at(-1)?.revision ?? revision
      pageLength = 0
      if (page.length < pageSize) return retriever.prepare()
    }
  }

  /** The next document that was not removed. */
  function nextOf(rest: Iterator<ReadyDocument>): ReadyDocument | undefined {
    for (let next = rest.next(); !next.done && !isClosed; next = rest.next()) if (pending.has(next.value.id)) return next.value
    return undefined
  }

  async function load(document: ReadyDocument): Promise<LoadedDocument> {
    const { id, version } = document
    return { document, sections: retriever.versions().get(id) === version ? undefined : await passages.load(id) }
  }

  async function add(group: readonly LoadedDocument[]): Promise<void> {
    await retriever.put(...group.filter(({ document }) => pending.has(document.id)).flatMap(toSearchDocument))
    const removed: string[] = []
    for (const { document } of group) {
      // Removed while it was added.
      if (pending.delete(document.id)) documents.set(document.id, document)
      else removed.push(document.id)
    }
    await retriever.remove(removed)
  }

  return {
    async follow(changes) {
      if (changes.removals !== removals) {
        await dropRemoved()
        removals = changes.removals
      }
      if (changes.revision !== revision)
        adding ??= addNew()
          .catch(onFault)
          .finally(() => (adding = undefined))
      return { added: adding ?? Promise.resolve() }
    },
    async search(query, { limit, signal, isVisible }) {
      const newest = newestOf(documents.values().filter(isVisible))
      const isNewest = (id: string) => newest.get(documents.get(id)?.version ?? '')?.id === id
      const hits = await retriever.search(query, { limit, signal, isVisible: isNewest })
      return hits.flatMap((hit) => {
        const document = documents.get(hit.document)
        return document ? [{ document, passage: toSection(hit), score: hit.score }] : []
      })
    },
    waiting: async () => (adding ? Math.max(0, (await store.countAfter(tenant, revision)) - pageLength + pending.size) : 0),
    async close() {
      isClosed = true
      await adding
      await retriever.close()
    },
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
