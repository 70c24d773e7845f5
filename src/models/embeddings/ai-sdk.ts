import type { EmbeddingModelV4 } from '@ai-sdk/provider'
import type { Embedder } from '../../agent/embedder.ts'
import { ModelError } from '../../agent/model.ts'
import { toModelError } from '../ai-sdk/ai-sdk.ts'
import type { Origin } from '../failures.ts'
import { areVectors } from './wire.ts'

interface AiSdkEmbedderOptions {
  name: string
  /** Loads the provider's package. Called once, at the first request. */
  load(): Promise<EmbeddingModelV4>
  /** Time limit for all texts of a request, in milliseconds. */
  limitMs: number
  origin: Origin
}

/** Creates an `Embedder` on a provider package of the AI SDK. */
export function createAiSdkEmbedder({ name, load, limitMs, origin }: AiSdkEmbedderOptions): Embedder {
  let loading: Promise<EmbeddingModelV4> | undefined
  return {
    name,
    async embed(texts, signal) {
      const model = await (loading ??= load())
      const abortSignal = AbortSignal.any([signal, AbortSignal.timeout(limitMs)])
      const batchSize = (await model.maxEmbeddingsPerCall) ?? texts.length
      const vectors: number[][] = []
      try {
        for (let start = 0; start < texts.length; start += batchSize) {
          const { embeddings } = await model.doEmbed({ values: texts.slice(start, start + batchSize), abortSignal })
          vectors.push(...embeddings)
        }
      } catch (error) {
        signal.throwIfAborted()
        throw toModelError(origin, error, false)
      }
      if (!areVectors(vectors, texts.length))
        throw new ModelError('unavailable', `${origin.label} returned no vectors, or a wrong number of vectors`)
      return vectors
    },
  }
}
