import type { Embedder } from '../agent/embedder.ts'
import { createIndexer } from './indexer.ts'
import { openRetriever } from './open-retriever.ts'
import { createQueryVectors } from './query-vectors.ts'
import type { OpenOptions, Retriever, Search } from './retriever.ts'
import { createTiers } from './tiers.ts'
import { createVectorMemory, type VectorStore } from './vector-store.ts'

export interface SearchOptions {
  /** The current encoder; undefined: words alone are searched. */
  encoder?(): Embedder | undefined
  store?: VectorStore
  /** Folder for indexes that are too large for memory; default: every index is in memory. */
  folder?: string
  /** Passages of a retriever that stay in memory. */
  maxInMemory?: number
  now?(): number
  onFault?(error: unknown): void
  /** Milliseconds that a search waits for the vector of its query. */
  queryMs?: number
  /** Milliseconds between looks at vectors that another process makes. */
  pollMs?: number
}

interface OpenRetriever {
  retriever: Promise<Retriever>
  users: number
}

/** Creates the retrievers of a service. Without options, words alone are searched. */
export function createSearch(options: SearchOptions = {}): Search {
  const { encoder = () => undefined, store = createVectorMemory(), now = Date.now, onFault = () => {}, queryMs = 1000, pollMs } = options
  const tiers = createTiers({ folder: options.folder, maxInMemory: options.maxInMemory ?? 2000, now })
  const indexer = createIndexer({ encoder, store, onFault, ...(pollMs !== undefined && { pollMs }) })
  const queryVectors = createQueryVectors({ encoder, limitMs: queryMs, now, onFault })
  /** Versions of a configuration overlap, and share their retrievers. */
  const opened = new Map<string, OpenRetriever>()
  const ready = new Map<string, Retriever>()

  async function start(name: string, options: OpenOptions): Promise<Retriever> {
    const retriever = await openRetriever(name, options, { encoder, queryVectors, indexer, store, tiers, waitMs: queryMs })
    ready.set(name, retriever)
    return retriever
  }

  async function leave(name: string, shared: OpenRetriever): Promise<void> {
    if (--shared.users > 0) return
    opened.delete(name)
    ready.delete(name)
    await (await shared.retriever).close()
  }

  return {
    async open(name, options = {}) {
      const shared = opened.get(name) ?? { retriever: start(name, options), users: 0 }
      shared.users++
      opened.set(name, shared)
      const retriever = await shared.retriever
      let isOpen = true
      const close = async () => {
        if (isOpen) await leave(name, shared)
        isOpen = false
      }
      return { ...retriever, close }
    },
    progress: () => [...ready.values()].map((retriever) => retriever.progress()),
    async close() {
      await indexer.close()
      await Promise.all([...ready.values()].map((retriever) => retriever.close()))
      await tiers.close()
    },
  }
}
