import type { Embedder } from '../agent/model.ts'
import { orAborted } from '../concurrency/or-aborted.ts'
import type { QueryVector } from './retriever.ts'
import { toByteVector } from './vectors.ts'

/** Turns queries into vectors, in bounded time. */
export interface QueryVectors {
  /**
   * Undefined when the encoder does not know the language, or gives no vector within the limit: words alone are searched then. Rejects only
   * when the signal is aborted. `maxMs`: a limit for this query, if it is lower.
   */
  of(query: string, signal?: AbortSignal, maxMs?: number): Promise<QueryVector | undefined>
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

export function createQueryVectors({ encoder: current, limitMs, now, onFault }: QueryVectorOptions): QueryVectors {
  /** By encoder and query, least recently used first. */
  const cached = new Map<string, Promise<QueryVector>>()
  let restsUntil = 0

  function start(encoder: Embedder, query: string): Promise<QueryVector> {
    const key = `${encoder.name}\n${query}`
    const computing = cached.get(key) ?? compute(encoder, query)
    cached.delete(key)
    cached.set(key, computing)
    computing.catch((error: unknown) => {
      if (cached.get(key) === computing) cached.delete(key)
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
    async of(query, signal, maxMs = limitMs) {
      const text = query.slice(0, maxCharacters).toWellFormed()
      const encoder = current()
      if (!encoder || now() < restsUntil || encoder.knows?.(text) === false) return undefined
      const limit = AbortSignal.timeout(Math.min(limitMs, maxMs))
      // A vector that comes too late serves the next search with the same words.
      const vector = await orAborted(start(encoder, text), signal ? AbortSignal.any([signal, limit]) : limit).catch(() => undefined)
      signal?.throwIfAborted()
      return vector
    },
  }
}

/** Computes the vector even if the search that asked for it has ended. */
async function compute(encoder: Embedder, query: string): Promise<QueryVector> {
  const [values] = await encoder.embed([query], AbortSignal.timeout(30_000))
  if (!values) throw new Error(`${encoder.name} returned no vector.`)
  return { encoder: encoder.name, ...toByteVector(values) }
}
