import { createHash } from 'node:crypto'
import { settlesWithin } from '../concurrency/settles-within.ts'
import type { Search } from '../search/retriever.ts'
import type { KnowledgeStore, TenantDocuments, TenantSearch } from './knowledge-store.ts'
import type { PassageFiles } from './passages.ts'
import { TenantIndex } from './tenant-index.ts'

interface OpenIndex {
  index: Promise<TenantIndex>
  /** Searches that run. */
  users: number
  /** Monotonic milliseconds: searches do not wait for new documents after this time, until nothing new is left. */
  waitUntil: number | undefined
}

export interface TenantIndexesOptions {
  store: KnowledgeStore
  passages: PassageFiles
  search: Search
  /** Tenants whose indexes stay open. */
  maxOpen?: number
  /** Milliseconds that a search waits for new documents. */
  maxWaitMs?: number
  onFault(error: unknown): void
}

/** The indexes of tenants in this process. An index is opened by the first search of its tenant; the ones that were used last stay open. */
export function createTenantIndexes(options: TenantIndexesOptions): TenantDocuments & { close(): Promise<void> } {
  const { store, passages, search, maxOpen = 32, maxWaitMs = 2_000, onFault } = options
  /** A Map keeps insertion order, so the first tenant is the least recently used. */
  const open = new Map<string, OpenIndex>()
  const closing = new Map<string, Promise<void>>()

  async function openIndex(tenant: string): Promise<TenantIndex> {
    await closing.get(tenant)
    const name = `uploads-${createHash('sha256').update(tenant).digest('hex').slice(0, 24)}`
    return new TenantIndex(tenant, { store, passages, onFault, retriever: await search.open(name) })
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

  async function searchIndex(tenant: string, opened: OpenIndex, query: string, options: TenantSearch) {
    const changes = await store.changes(tenant)
    const index = await opened.index
    const { added } = await index.follow(changes)
    opened.waitUntil ??= performance.now() + maxWaitMs
    if (await settlesWithin(added, Math.max(0, opened.waitUntil - performance.now()))) opened.waitUntil = undefined
    return { hits: await index.search(query, options), waiting: changes.unfinished + (await index.waiting()) }
  }

  return {
    async search(tenant, query, options) {
      const opened = acquire(tenant)
      try {
        return await searchIndex(tenant, opened, query, options)
      } catch (error) {
        // An index that cannot be opened is opened again by the next search.
        opened.index.catch(() => open.get(tenant) === opened && open.delete(tenant))
        throw error
      } finally {
        release(opened)
      }
    },
    async close() {
      await Promise.all([...open.values()].map(async ({ index }) => (await index.catch(() => undefined))?.close()))
      await Promise.all(closing.values())
    },
  }
}
