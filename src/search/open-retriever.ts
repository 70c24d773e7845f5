import type { Embedder } from '../agent/embedder.ts'
import { settlesWithin } from '../concurrency/settles-within.ts'
import type { Indexer } from './indexer.ts'
import type { QueryVectors } from './query-vectors.ts'
import type { OpenOptions, Retriever, SearchProgress } from './retriever.ts'
import type { Tiers } from './tiers.ts'
import type { VectorStore } from './vector-store.ts'

export interface RetrieverParts {
  encoder(): Embedder | undefined
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
export async function openRetriever(
  name: string,
  options: OpenOptions,
  { encoder, queryVectors, indexer, store, tiers, waitMs }: RetrieverParts,
): Promise<Retriever> {
  const tier = await tiers.open(name, options)
  /** True from the first search on: a start computes no vectors. */
  let isPrepared = false

  function prepare(): Promise<void> {
    isPrepared = true
    return encoder() ? indexer.index(tier) : Promise.resolve()
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
      const vector = embedded > 0 ? await queryVectors.of(query, options.signal, isBusy ? busyMs : undefined) : undefined
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
