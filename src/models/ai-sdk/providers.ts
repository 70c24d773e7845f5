import type { EmbeddingModelV4, LanguageModelV4 } from '@ai-sdk/provider'
import type { Connections } from '../connections.ts'
import { maxErrorBytes } from '../failures.ts'

export type AiSdkProvider = 'anthropic' | 'google' | 'amazon-bedrock'

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

/** Loads a provider's package and makes its model. Imported only here and in use: each costs start-up time and memory. */
export async function loadLanguageModel(
  provider: AiSdkProvider,
  model: string,
  access: ProviderAccess,
  fetch: Fetch,
): Promise<LanguageModelV4> {
  if (provider === 'google') return (await loadGoogle(access, fetch))(model)
  if (provider === 'amazon-bedrock') return (await loadBedrock(access, fetch))(model)
  const { createAnthropic } = await import('@ai-sdk/anthropic')
  const { baseUrl: baseURL, headers, apiKey = '' } = access
  return createAnthropic({ apiKey, baseURL, headers, fetch })(model)
}

/** The same for a model that makes vectors. */
export async function loadEmbeddingModel(
  provider: Exclude<AiSdkProvider, 'anthropic'>,
  model: string,
  access: ProviderAccess,
  fetch: Fetch,
): Promise<EmbeddingModelV4> {
  if (provider === 'google') return (await loadGoogle(access, fetch)).embeddingModel(model)
  return (await loadBedrock(access, fetch)).embeddingModel(model)
}

// An absent key is an empty one: for an absent one the packages look into an environment that the configuration does not own.
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
