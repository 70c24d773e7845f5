import type { EmbeddingModelV4, LanguageModelV4, JSONObject, SharedV4ProviderOptions } from '@ai-sdk/provider'
import { type AiSdkProvider, type ChatCompletionsProvider, providers, type AiSdkTraits } from '../../configuration/providers.ts'
import type { Connections, Timeouts } from '../connections.ts'
import { maxErrorBytes } from '../failures.ts'
import { withItems } from './kept-parts.ts'
import { createCallMender, createCountMender, mendEvents, createResponsesFetch } from './mended-fetch.ts'
import type { Model, ModelServer } from '../../agent/model.ts'
import { abilitiesOf } from '../../configuration/models/abilities.ts'
import type { ModelConfig } from '../../configuration/schema.ts'
import { type ModelConnection, toKeyHeader, toServer, toWireUrl } from '../model-access.ts'
import { createAiSdkModel } from './ai-sdk.ts'

/** Address and credentials of a provider, with every reference resolved. */
export interface ProviderAccess {
  apiKey?: string
  baseUrl?: string
  headers?: Record<string, string>
  region?: string
  accessKeyId?: string
  secretAccessKey?: string
  sessionToken?: string
}

type Fetch = typeof globalThis.fetch

/** The factory exported by a provider's package. */
interface ModelFactory {
  languageModel(model: string): LanguageModelV4
  embeddingModel(model: string): EmbeddingModelV4
}

/** Loaders of the packages. A package is imported at the first use of a model, because imports cost start-up time and memory. */
const factories: Record<AiSdkProvider, (access: ProviderAccess, fetch: Fetch) => Promise<ModelFactory>> = {
  anthropic: loadAnthropic,
  google: loadGoogle,
  'amazon-bedrock': loadBedrock,
}

/** Loads a provider's package and creates a language model. */
export async function loadLanguageModel(
  provider: AiSdkProvider,
  model: string,
  access: ProviderAccess,
  fetch: Fetch,
): Promise<LanguageModelV4> {
  return (await factories[provider](access, fetch)).languageModel(model)
}

/** Loads a provider's package and creates an embedding model. */
export async function loadEmbeddingModel(
  provider: AiSdkProvider,
  model: string,
  access: ProviderAccess,
  fetch: Fetch,
): Promise<EmbeddingModelV4> {
  return (await factories[provider](access, fetch)).embeddingModel(model)
}

// An absent key is passed as an empty string: for an undefined key the packages read environment variables of the process.
async function loadAnthropic({ baseUrl: baseURL, headers, apiKey = '' }: ProviderAccess, fetch: Fetch) {
  const { createAnthropic } = await import('@ai-sdk/anthropic')
  return createAnthropic({ apiKey, baseURL, headers, fetch: mendEvents(fetch, createCallMender) })
}

async function loadGoogle({ baseUrl: baseURL, headers, apiKey = '' }: ProviderAccess, fetch: Fetch) {
  const { createGoogle } = await import('@ai-sdk/google')
  return createGoogle({ apiKey, baseURL, headers, fetch: mendEvents(withSentItems(fetch), createCountMender) })
}

/** Gemini gets the executed calls back unchanged. */
function withSentItems(fetch: Fetch): Fetch {
  return (input, init) => fetch(input, { ...init, body: withItems(init?.body) })
}

async function loadBedrock(access: ProviderAccess, fetch: Fetch) {
  const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock')
  // `credentialProvider` is used, because the package reads absent credentials from environment variables.
  const { baseUrl: baseURL, headers, apiKey = '', region = '', accessKeyId = '', secretAccessKey = '', sessionToken } = access
  const credentialProvider = async () => ({ accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) })
  return createAmazonBedrock({ apiKey, baseURL, headers, fetch, region, credentialProvider })
}

/** Loads the package of the responses API and creates a model. `fetch` knows the server's address and the key. */
export async function loadResponsesModel(provider: ChatCompletionsProvider, model: string, fetch: Fetch): Promise<LanguageModelV4> {
  // An absent key and address would be read from environment variables of the process.
  const access = { apiKey: '', baseURL: 'https://address.invalid/v1', fetch }
  if (provider === 'xai') return (await import('@ai-sdk/xai')).createXai(access).responses(model)
  return (await import('@ai-sdk/openai')).createOpenAI(access).responses(model)
}

/** Creates a `fetch` on the shared connections. Redirects are not followed, because they would forward the key, and long error bodies are cut. */
export function createModelFetch(connections: Connections, connectMs: number): typeof globalThis.fetch {
  return async (input, init) => {
    const { fetch } = await import('undici')
    const url = new URL(input instanceof Request ? input.url : input)
    const dispatcher = await connections.pool(url.origin, connectMs)
    // The types of undici and of Node's fetch differ only in name.
    const response = (await fetch(url, { ...init, redirect: 'manual', dispatcher } as never)) as unknown as Response
    return response.ok ? response : cutBody(response)
  }
}

async function cutBody(response: Response): Promise<Response> {
  let body = ''
  const decoder = new TextDecoder()
  for await (const bytes of response.body ?? []) {
    body += decoder.decode(bytes, { stream: true })
    if (body.length > maxErrorBytes) break
  }
  return new Response(body || null, { status: response.status, headers: response.headers })
}

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
