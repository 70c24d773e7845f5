import type { Embedder } from '../../agent/model.ts'
import { isAiSdkProvider, providers } from '../../configuration/providers.ts'
import { resolveReferences } from '../../configuration/references.ts'
import type { ModelConfig } from '../../configuration/schema.ts'
import { createModelFetch, loadEmbeddingModel } from '../ai-sdk/providers.ts'
import { withPath, type ModelDependencies } from '../create-model.ts'
import { resolveAccess, toKeyHeader, toWireUrl } from '../model-access.ts'
import { createAiSdkEmbedder } from './ai-sdk.ts'
import { createWireEmbedder } from './wire.ts'

/** Default time limit in seconds. A few sentences take a fraction of a second. */
const defaultLimit = 30

/** Creates the embedder of `llms.embedding`; undefined if not configured. Throws a `ConfigError` with the faulty fields. */
export function createEmbedder(config: ModelConfig | undefined, deps: Omit<ModelDependencies, 'retry'>): Embedder | undefined {
  return config && withPath(['llms', 'embedding'], () => create(config, deps))
}

function create(config: ModelConfig, { environment, connections }: Omit<ModelDependencies, 'retry'>): Embedder {
  const { provider, model } = config
  // The check of the configuration reports this fault too. This check covers configurations that skip it.
  if (provider === 'embedded' || !providers[provider].embeds) throw new Error(`provider: ${provider} has no models for embeddings`)
  const access = resolveAccess(config, (text) => resolveReferences(text, environment))
  const { apiKey, headers, origin } = access
  const name = `${provider} ${model}`
  const connectMs = (config.connect_timeout ?? 10) * 1000
  const limitMs = (config.first_token_timeout ?? defaultLimit) * 1000
  if (isAiSdkProvider(provider)) {
    const baseUrl = access.baseUrl?.href.replace(/(?<!\/)\/+$/, '')
    const load = () => loadEmbeddingModel(provider, model, { ...access, baseUrl }, createModelFetch(connections, connectMs))
    return createAiSdkEmbedder({ name, model, load, limitMs, origin })
  }
  const url = toWireUrl(provider, config, access.baseUrl, 'embeddings')
  return createWireEmbedder({
    name,
    model,
    url,
    connectMs,
    limitMs,
    origin,
    connections,
    headers: { ...toKeyHeader(provider, apiKey), ...headers },
  })
}
