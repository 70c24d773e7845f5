import type { EmbeddingModelV4, EmbeddingModelV4CallOptions } from '@ai-sdk/provider'
import type { Embedder } from '../../agent/model.ts'
import type { Origin } from '../failures.ts'
import { embedOnce } from '../retry.ts'
import { toTokenCount } from '../usage.ts'

interface AiSdkEmbedderOptions {
  name: string
  model: string
  /** Loads the provider's package. Called once, at the first request. */
  load(): Promise<EmbeddingModelV4>
  /** Time limit for all texts of a request, in milliseconds. */
  limitMs: number
  origin: Origin
}

/** Creates an `Embedder` on a provider package of the AI SDK. */
export function createAiSdkEmbedder({ name, load, ...limits }: AiSdkEmbedderOptions): Embedder {
  let loading: Promise<EmbeddingModelV4> | undefined
  return {
    name,
    async embed(texts, signal, { dimensions, ...options } = {}) {
      const model = await (loading ??= load())
      const batchSize = (await model.maxEmbeddingsPerCall) ?? texts.length
      return embedOnce(limits, texts, signal, options, async (abortSignal, count) => {
        const vectors: number[][] = []
        for (let start = 0; start < texts.length; start += batchSize) {
          const values = texts.slice(start, start + batchSize)
          const { embeddings, usage } = await model.doEmbed({ values, abortSignal, ...optionsOf(model.modelId, dimensions) })
          vectors.push(...embeddings)
          count(toTokenCount(usage?.tokens))
        }
        return vectors
      })
    },
  }
}

/** The package of Amazon Bedrock has a name of its own for the length of vectors in each family of models. */
function optionsOf(model: string, dimensions: number | undefined): Pick<EmbeddingModelV4CallOptions, 'dimensions' | 'providerOptions'> {
  if (dimensions === undefined) return {}
  const name = model.includes('nova') ? 'embeddingDimension' : model.includes('cohere') ? 'outputDimension' : 'dimensions'
  return { dimensions, providerOptions: { bedrock: { [name]: dimensions } } }
}
