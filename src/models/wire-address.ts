import type { ModelServer } from '../agent/model.ts'
import type { ModelConfig } from '../configuration/schema.ts'
import type { ChatCompletionsProvider } from './chat-completions/request.ts'

/** Where the servers that speak OpenAI's wire are asked, and with which key. */

const baseUrls: Partial<Record<ChatCompletionsProvider, string>> = {
  openai: 'https://api.openai.com/v1',
  mistral: 'https://api.mistral.ai/v1',
}

/** Newest version of Azure's data plane that is not a preview. */
const azureVersion = '2024-10-21'

export function toWireUrl(
  provider: ChatCompletionsProvider,
  config: Pick<ModelConfig, 'model' | 'api_version'>,
  baseUrl: URL | undefined,
  operation: 'chat/completions' | 'embeddings',
): URL {
  const url = new URL(baseUrl ?? baseUrls[provider] ?? '')
  const base = url.pathname.replace(/(?<!\/)\/+$/, '')
  if (provider !== 'azure') {
    url.pathname = `${base}/${operation}`
    return url
  }
  // A resource, a deployment, or the newer `/openai/v1`, which has no versions.
  const isVersionless = base.endsWith('/v1')
  const isWhole = isVersionless || base.includes('/deployments/')
  const deployment = isWhole ? base : `${base.replace(/\/openai$/, '')}/openai/deployments/${encodeURIComponent(config.model)}`
  url.pathname = `${deployment}/${operation}`
  const version = config.api_version ?? (isVersionless || url.searchParams.has('api-version') ? undefined : azureVersion)
  if (version !== undefined) url.searchParams.set('api-version', version)
  return url
}

export function toKeyHeader(provider: ChatCompletionsProvider, apiKey: string | undefined): Record<string, string> {
  if (apiKey === undefined) return {}
  return provider === 'azure' ? { 'api-key': apiKey } : { authorization: `Bearer ${apiKey}` }
}

/** The server of an address, as traces name it. */
export function toServer({ hostname, port, protocol }: URL): ModelServer {
  return { address: hostname, port: port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port) }
}
