import type { CallOptions, Query, Reply } from '../operation.ts'
import type { Transport } from '../transport.ts'
import { readPages } from './pages.ts'

export type MemoryPage = Reply<'GET', '/core/v1/memories'>
export type Memory = MemoryPage['memories'][number]
export type MemoryFilter = Query<'GET', '/core/v1/memories'>

/** Facts about the caller that the agent remembers. */
export interface Memories {
  /** Lists a page of memories, newest first. `before` is the id of the last memory of the previous page. */
  list(filter?: MemoryFilter, options?: CallOptions): Promise<MemoryPage>
  /** Yields all memories, page by page. */
  all(filter?: MemoryFilter, options?: CallOptions): AsyncGenerator<Memory, void>
  delete(id: string, options?: CallOptions): Promise<Reply<'DELETE', '/core/v1/memories/{id}'>>
}

const defaultLimit = 45

export function createMemories(transport: Transport): Memories {
  const list: Memories['list'] = (query, options) => transport.request('GET', '/core/v1/memories', { ...options, query })

  return {
    list,

    all(filter, options) {
      const limit = filter?.limit ?? defaultLimit
      const load = (before: string | undefined) => list({ ...filter, ...(before === undefined ? {} : { before }) }, options)
      const next = ({ memories }: MemoryPage) => (memories.length < limit ? undefined : memories.at(-1)?.id)
      return readPages(load, { elements: ({ memories }) => memories, next })
    },

    delete: (id, options) => transport.request('DELETE', '/core/v1/memories/{id}', { ...options, path: { id } }),
  }
}
