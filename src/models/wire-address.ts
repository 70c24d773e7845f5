import type { ModelServer } from '../agent/model.ts'
import { providers, type ChatCompletionsProvider, type ChatCompletionsTraits } from '../configuration/providers.ts'
import type { ModelConfig } from '../configuration/schema.ts'

/** Addresses and key headers of servers with OpenAI's HTTP API. */

/** Newest stable version of Azure's data-plane API. */
const azureVersion = '2024-10-21'

export function toWireUrl(
  provider: ChatCompletionsProvider,
  config: Pick<ModelConfig, 'model' | 'api_version'>,
  baseUrl: URL | undefined,
  operation: 'chat/completions' | 'responses' | 'embeddings',
): URL {
  const { dialect, baseUrl: usualBaseUrl = '' }: ChatCompletionsTraits = providers[provider]
  const url = new URL(baseUrl ?? usualBaseUrl)
  const base = url.pathname.replace(/(?<!\/)\/+$/, '')
  if (dialect !== 'azure') {
    url.pathname = `${base}/${operation}`
    return url
  }
  if (operation === 'responses') return toAzureResponses(url, base, config.api_version)
  // `base` is a resource, a deployment, or the newer `/openai/v1`, which has no versions.
  const isVersionless = base.endsWith('/v1')
  const isWhole = isVersionless || base.includes('/deployments/')
  const deployment = isWhole ? base : `${base.replace(/\/openai$/, '')}/openai/deployments/${encodeURIComponent(config.model)}`
  url.pathname = `${deployment}/${operation}`
  const version = config.api_version ?? (isVersionless || url.searchParams.has('api-version') ? undefined : azureVersion)
  if (version !== undefined) url.searchParams.set('api-version', version)
  return url
}

/** The responses API of Azure belongs to the resource. A dated version has an address of its own. */
function toAzureResponses(url: URL, base: string, version: string | undefined): URL {
  const resource = base.replace(/\/openai(?:\/v1|\/deployments\/.*)?$/, '')
  const isDated = version !== undefined && /^\d/.test(version)
  url.pathname = `${resource}/openai/${isDated ? '' : 'v1/'}responses`
  if (version !== undefined) url.searchParams.set('api-version', version)
  return url
}

export function toKeyHeader(provider: ChatCompletionsProvider, apiKey: string | undefined): Record<string, string> {
  if (apiKey === undefined) return {}
  const { dialect }: ChatCompletionsTraits = providers[provider]
  return dialect === 'azure' ? { 'api-key': apiKey } : { authorization: `Bearer ${apiKey}` }
}

/** Converts a URL to the server attributes of traces. */
export function toServer({ hostname, port, protocol }: URL): ModelServer {
  return { address: hostname, port: port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port) }
}
