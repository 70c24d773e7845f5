import type { EmbeddingModelV4, LanguageModelV4 } from '@ai-sdk/provider'
import type { AiSdkProvider } from '../../configuration/providers.ts'
import type { Connections } from '../connections.ts'
import { maxErrorBytes } from '../failures.ts'

/** How to reach a provider; every reference is resolved. */
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

/** What a provider's package makes models with. */
interface ModelFactory {
  languageModel(model: string): LanguageModelV4
  embeddingModel(model: string): EmbeddingModelV4
}

/** Each loads its package when a model is first used: an import costs start-up time and memory. */
const factories: Record<AiSdkProvider, (access: ProviderAccess, fetch: Fetch) => Promise<ModelFactory>> = {
  anthropic: loadAnthropic,
  google: loadGoogle,
  'amazon-bedrock': loadBedrock,
}

/** Loads a provider's package and makes its model. */
export async function loadLanguageModel(
  provider: AiSdkProvider,
  model: string,
  access: ProviderAccess,
  fetch: Fetch,
): Promise<LanguageModelV4> {
  return (await factories[provider](access, fetch)).languageModel(model)
}

/** Loads a provider's package and makes its embedding model. */
export async function loadEmbeddingModel(
  provider: AiSdkProvider,
  model: string,
  access: ProviderAccess,
  fetch: Fetch,
): Promise<EmbeddingModelV4> {
  return (await factories[provider](access, fetch)).embeddingModel(model)
}

// An absent key is an empty one: for an absent one the packages look into an environment that the configuration does not own.
async function loadAnthropic({ baseUrl: baseURL, headers, apiKey = '' }: ProviderAccess, fetch: Fetch) {
  const { createAnthropic } = await import('@ai-sdk/anthropic')
  return createAnthropic({ apiKey, baseURL, headers, fetch })
}

async function loadGoogle({ baseUrl: baseURL, headers, apiKey = '' }: ProviderAccess, fetch: Fetch) {
  const { createGoogle } = await import('@ai-sdk/google')
  return createGoogle({ apiKey, baseURL, headers, fetch })
}

async function loadBedrock(access: ProviderAccess, fetch: Fetch) {
  const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock')
  // Through a function, since the package reads each one that is absent from the environment.
  const { baseUrl: baseURL, headers, apiKey = '', region = '', accessKeyId = '', secretAccessKey = '', sessionToken } = access
  const credentialProvider = async () => ({ accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) })
  return createAmazonBedrock({ apiKey, baseURL, headers, fetch, region, credentialProvider })
}

/** A fetch over our own connections that follows no redirect, which would take the key along, and reads no endless error. */
export function createModelFetch(connections: Connections, connectMs: number): typeof globalThis.fetch {
  return async (input, init) => {
    const { fetch } = await import('undici')
    const url = new URL(input instanceof Request ? input.url : input)
    const dispatcher = connections.pool(url.origin, connectMs)
    // The types of undici and of Node's own fetch differ in name only.
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
