import { BudgetSpent } from '../agent/meter.ts'
import type { Embedder, ModelMeter } from '../agent/model.ts'
import { settlesWithin } from '../concurrency/settles-within.ts'
import { Indexer } from './indexer.ts'
import type { OpenOptions, Retriever, Search, SearchProgress, QueryVector } from './retriever.ts'
import { createTiers, type Tiers } from './tiers.ts'
import { createVectorMemory, type VectorStore, toByteVector } from './vectors.ts'
import { orAborted } from '../concurrency/or-aborted.ts'

export interface SearchOptions {
  /** The current encoder; undefined: words alone are searched. */
  encoder?(): Embedder | undefined
  /** Pays for the vectors of a tenant's documents, or of the service's own; undefined where no budget is configured. */
  meterOf?: MeterOf
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

/** The meter of a tenant, or of the service. */
export type MeterOf = (tenant: string | undefined) => ModelMeter | undefined

interface OpenRetriever {
  retriever: Promise<Retriever>
  users: number
}

/** Creates the retrievers of a service. Without options, words alone are searched. */
export function createSearch(options: SearchOptions = {}): Search {
  const { encoder = () => undefined, store = createVectorMemory(), now = Date.now, onFault = () => {}, queryMs = 1000, pollMs } = options
  const tiers = createTiers({ folder: options.folder, maxInMemory: options.maxInMemory ?? 2000, now })
  const { meterOf = () => undefined } = options
  const indexer = new Indexer({ encoder, meterOf, store, onFault, ...(pollMs !== undefined && { pollMs }) })
  const queryVectors = createQueryVectors({ encoder, limitMs: queryMs, now, onFault })
  /** Versions of a configuration overlap, and share their retrievers. */
  const opened = new Map<string, OpenRetriever>()
  const ready = new Map<string, Retriever>()

  async function start(name: string, options: OpenOptions): Promise<Retriever> {
    const retriever = await openRetriever(name, options, { encoder, meterOf, queryVectors, indexer, store, tiers, waitMs: queryMs })
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

interface RetrieverParts {
  encoder(): Embedder | undefined
  meterOf: MeterOf
  queryVectors: QueryVectors
  indexer: Indexer
  store: VectorStore
  tiers: Tiers
  /** Milliseconds that a search waits for stored vectors. */
  waitMs: number
}

/** Milliseconds that a search waits for its vector while the encoder works through passages, which takes hours for thousands of documents. */
const busyMs = 100

/** Opens the retriever of this name. */
async function openRetriever(
  name: string,
  options: OpenOptions,
  { encoder, meterOf, queryVectors, indexer, store, tiers, waitMs }: RetrieverParts,
): Promise<Retriever> {
  const { tenant } = options
  const tier = await tiers.open(name, options)
  /** True from the first search on: a start computes no vectors. */
  let isPrepared = false

  function prepare(): Promise<void> {
    isPrepared = true
    return encoder() ? indexer.index(tier, tenant) : Promise.resolve()
  }

  /** Vectors of texts that are gone must not stay. */
  async function removeVectors(hashes: readonly string[]): Promise<void> {
    if (hashes.length > 0 && encoder()) await store.remove(hashes)
  }

  function progress(): SearchProgress {
    const current = encoder()?.name
    const counts = { name, ...(options.label && { label: options.label() }), ...tier.counts(current) }
    if (current === undefined) return { ...counts, state: 'words' }
    const named = { ...counts, encoder: current }
    const fault = indexer.faultOf(tier)
    if (counts.embedded === counts.passages) return { ...named, state: 'ready' }
    if (fault !== undefined) return { ...named, state: 'failed', reason: fault }
    return { ...named, state: indexer.isIndexing(tier) ? 'indexing' : 'waiting' }
  }

  return {
    async put(...documents) {
      if (documents.length === 0) return
      await removeVectors(await tier.put(...documents))
      if (isPrepared) void prepare()
    },
    async remove(ids) {
      if (ids.length === 0) return
      await removeVectors(await tier.remove(ids))
    },
    versions: tier.versions,
    async search(query, options) {
      // Only vectors that exist already are worth the wait for that of the query.
      await settlesWithin(prepare(), waitMs)
      const { embedded, passages } = tier.counts(encoder()?.name)
      const isBusy = embedded < passages && indexer.isIndexing(tier)
      const { meter = meterOf(tenant), signal } = options
      const vector = embedded > 0 ? await queryVectors.of(query, { meter, signal, maxMs: isBusy ? busyMs : undefined }) : undefined
      return tier.search(query, { ...options, vector })
    },
    prepare: () => void prepare(),
    progress,
    async close() {
      indexer.forget(tier)
      await tier.close()
    },
  }
}

interface QueryOptions {
  meter: ModelMeter | undefined
  signal: AbortSignal | undefined
  /** A limit for this query, if it is lower. */
  maxMs: number | undefined
}

interface QueryVectorOptions {
  encoder(): Embedder | undefined
  /** Milliseconds that a search waits for its vector. */
  limitMs: number
  now(): number
  onFault(error: unknown): void
}

/** An encoder that failed is not asked again for this time. */
const restMs = 30_000
const maxCharacters = 2_000
const maxCached = 200

/** Turns queries into vectors, in bounded time. */
function createQueryVectors({ encoder: current, limitMs, now, onFault }: QueryVectorOptions) {
  /** By encoder and query, least recently used first. */
  const cached = new Map<string, Promise<QueryVector>>()
  let restsUntil = 0

  function start(encoder: Embedder, query: string, meter: ModelMeter | undefined): Promise<QueryVector> {
    const key = `${encoder.name}\n${query}`
    const computing = cached.get(key) ?? compute(encoder, query, meter)
    cached.delete(key)
    cached.set(key, computing)
    computing.catch((error: unknown) => {
      if (cached.get(key) === computing) cached.delete(key)
      // Other callers have other budgets.
      if (error instanceof BudgetSpent) return
      restsUntil = now() + restMs
      onFault(error)
    })
    for (const oldest of cached.keys()) {
      if (cached.size <= maxCached) break
      cached.delete(oldest)
    }
    return computing
  }

  return {
    /**
     * Undefined when the encoder does not know the language, gives no vector within the limit, or no budget pays for one: words alone are
     * searched then. Rejects only when the signal is aborted.
     */
    async of(query: string, { meter, signal, maxMs = limitMs }: QueryOptions): Promise<QueryVector | undefined> {
      const text = query.slice(0, maxCharacters).toWellFormed()
      const encoder = current()
      if (!encoder || now() < restsUntil || encoder.knows?.(text) === false) return undefined
      const limit = AbortSignal.timeout(Math.min(limitMs, maxMs))
      // A vector that comes too late serves the next search with the same words.
      const vector = await orAborted(start(encoder, text, meter), signal ? AbortSignal.any([signal, limit]) : limit).catch(() => undefined)
      signal?.throwIfAborted()
      return vector
    },
  }
}

type QueryVectors = ReturnType<typeof createQueryVectors>

/** Computes the vector even if the search that asked for it has ended. */
async function compute(encoder: Embedder, query: string, meter: ModelMeter | undefined): Promise<QueryVector> {
  const [values] = await encoder.embed([query], AbortSignal.timeout(30_000), { meter })
  if (!values) throw new Error(`${encoder.name} returned no vector.`)
  return { encoder: encoder.name, ...toByteVector(values) }
}
