import type { EmbeddingModelV4, LanguageModelV4 } from '@ai-sdk/provider'
import type { AiSdkProvider, ChatCompletionsProvider } from '../../configuration/providers.ts'
import type { Connections } from '../connections.ts'
import { maxErrorBytes } from '../failures.ts'
import { withItems } from './wire-items.ts'
import { createCallMender, createCountMender, mendEvents } from './mended-events.ts'

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

/** Gemini gets what it has run as it was. */
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
