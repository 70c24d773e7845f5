import type { JSONObject, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { Model, ModelServer } from '../../agent/model.ts'
import { abilitiesOf } from '../../configuration/models/abilities.ts'
import { providers, type AiSdkProvider, type AiSdkTraits, type ChatCompletionsProvider } from '../../configuration/providers.ts'
import type { ModelConfig } from '../../configuration/schema.ts'
import type { Timeouts } from '../chat-completions/event-stream.ts'
import type { Connections } from '../connections.ts'
import type { ModelConnection } from '../model-access.ts'
import { toKeyHeader, toServer, toWireUrl } from '../wire-address.ts'
import { createAiSdkModel } from './ai-sdk.ts'
import { createModelFetch, loadLanguageModel, loadResponsesModel } from './providers.ts'
import { createResponsesFetch } from './responses-fetch.ts'

/** How the server of a configured model is reached. */
export interface ModelLine {
  access: ModelConnection
  connections: Connections
  timeouts: Timeouts
}

/** A model of a provider that is called through its own package. */
export function toAiSdkModel(provider: AiSdkProvider, config: ModelConfig, { access, connections, timeouts }: ModelLine): Model {
  const baseUrl = access.baseUrl?.href.replace(/(?<!\/)\/+$/, '')
  const fetch = createModelFetch(connections, timeouts.connectMs)
  return createAiSdkModel({
    ...toOptions(config),
    load: () => loadLanguageModel(provider, config.model, { ...access, baseUrl }, fetch),
    providerOptions: config.extra_body ? { [optionsNames[provider]]: config.extra_body as JSONObject } : {},
    timeouts,
    origin: access.origin,
    server: access.baseUrl ? toServer(access.baseUrl) : toUsualServer(provider, config),
  })
}

/** The names under which the packages read their options. */
const optionsNames: Record<AiSdkProvider, string> = { anthropic: 'anthropic', google: 'google', 'amazon-bedrock': 'bedrock' }

/** A model on the responses API, of OpenAI or of a server with the same API. */
export function toResponsesModel(provider: ChatCompletionsProvider, config: ModelConfig, line: ModelLine): Model {
  const { access, connections, timeouts } = line
  const url = toWireUrl(provider, config, access.baseUrl, 'responses')
  const headers = { ...toKeyHeader(provider, access.apiKey), ...access.headers }
  const fetch = createResponsesFetch(createModelFetch(connections, timeouts.connectMs), { url, headers, extraBody: config.extra_body })
  return createAiSdkModel({
    ...toOptions(config),
    load: () => loadResponsesModel(provider, config.model, fetch),
    providerOptions: toResponsesOptions(provider, config),
    timeouts,
    origin: access.origin,
    server: toServer(url),
  })
}

/**
 * Nothing is stored at the provider: reasoning comes encrypted, and is sent back. The package recognises the reasoning models of OpenAI by
 * their names, which deployments and other servers do not have.
 */
function toResponsesOptions(provider: ChatCompletionsProvider, config: ModelConfig): SharedV4ProviderOptions {
  if (provider === 'xai') return { xai: { store: false } }
  const isConfigured = (config.reasoning_effort ?? config.reasoning_summary) !== undefined
  const reasons = provider === 'openai-compatible' ? isConfigured : abilitiesOf(config).efforts.length > 0
  return { openai: { store: false, forceReasoning: reasons } }
}

/** The options of every provider that agent.yaml decides. */
function toOptions(config: ModelConfig) {
  const abilities = abilitiesOf(config)
  const { documents, audio, video } = abilities
  const { reasoning_effort: reasoningEffort, reasoning_tokens: reasoningTokens, reasoning_summary: summary } = config
  return {
    provider: config.provider,
    model: config.model,
    seesImages: config.images ?? true,
    readsFiles(mediaType: string): boolean {
      if (mediaType === 'application/pdf') return documents
      return mediaType.startsWith('audio/') ? audio : video && mediaType.startsWith('video/')
    },
    settings: { temperature: config.temperature, maxOutputTokens: config.max_output_tokens },
    reasoning: { reasoningEffort, reasoningTokens, reasoningSummary: summary && summary === 'on' },
    abilities,
    marksCache: config.cache !== 'off' && abilities.cache === 'marks',
  }
}

/** The server that a provider's package calls without `base_url`. */
function toUsualServer(provider: AiSdkProvider, { region = '' }: ModelConfig): ModelServer | undefined {
  const { host }: AiSdkTraits = providers[provider]
  // A region given as `${NAME}` is not resolved here, so the server is unknown.
  if (host.includes('{region}') && !/^[a-z0-9-]+$/.test(region)) return undefined
  return { address: host.replace('{region}', region), port: 443 }
}
