import {
  isAiSdkProvider,
  providers,
  type ProviderTraits,
  type ChatCompletionsProvider,
  type ChatCompletionsTraits,
} from '../configuration/providers.ts'
import type { ModelConfig } from '../configuration/schema.ts'
import type { Origin } from './failures.ts'
import { messageOf } from '../errors.ts'
import type { ModelServer } from '../agent/model.ts'

/** Address and credentials of a model, with every `${NAME}` resolved. */
export interface ModelConnection {
  apiKey?: string
  /** Credentials of the URL are removed: they become a header. */
  baseUrl?: URL
  headers: Record<string, string>
  region?: string
  accessKeyId?: string
  secretAccessKey?: string
  sessionToken?: string
  origin: Origin
}

type Resolve = (text: string) => string

/** Resolves the address and credentials of a model. Throws a single `Error` that names every missing or unresolvable field. */
export function resolveAccess(config: ModelConfig, resolve: Resolve): ModelConnection {
  const problems: string[] = []
  const text = (field: string, value: string | undefined): string | undefined => {
    if (value === undefined) return undefined
    try {
      return resolve(value).trim()
    } catch (error) {
      problems.push(`${field}: ${messageOf(error)}`)
      return undefined
    }
  }
  /** A blank value counts as absent. An unresolvable value is already reported, so it must not be reported as missing too. */
  const key = (field: string, value: string | undefined) => {
    const before = problems.length
    return text(field, value) || (problems.length > before ? unresolved : undefined)
  }
  const baseUrl = toUrl(text('base_url', config.base_url), problems)
  const configuredHeaders = Object.fromEntries(
    Object.entries(config.headers ?? {}).map(([name, value]) => [name.toLowerCase(), key(`headers.${name}`, value) ?? '']),
  )
  const keys = {
    apiKey: key('api_key', config.api_key),
    accessKeyId: key('access_key_id', config.access_key_id),
    secretAccessKey: key('secret_access_key', config.secret_access_key),
    sessionToken: key('session_token', config.session_token),
  }
  problems.push(...missingFields(config, keys, configuredHeaders))
  if (baseUrl?.search && isAiSdkProvider(config.provider)) problems.push(`base_url: ${config.provider} allows no query string`)
  if (problems.length > 0) throw new Error(problems.join('; '))
  const headers = { ...credentialsHeader(baseUrl, keys.apiKey), ...configuredHeaders }
  return {
    ...keys,
    region: config.region,
    headers,
    baseUrl: withoutCredentials(baseUrl),
    origin: {
      label: `${config.provider} ${config.model}`,
      secrets: secretsOf([...Object.values(keys), ...Object.values(headers)], baseUrl),
    },
  }
}

type ModelKeys = Pick<ModelConnection, 'apiKey' | 'accessKeyId' | 'secretAccessKey' | 'sessionToken'>

/** Placeholder for an unresolvable value, until the problems are thrown. */
const unresolved = '?'

function toUrl(text: string | undefined, problems: string[]): URL | undefined {
  if (text === undefined) return undefined
  const url = URL.parse(text)
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  problems.push('base_url: must be an http(s) address')
  return undefined
}

/** Required fields that are missing. A gateway may get its key in a header instead of `api_key`. */
function missingFields(config: ModelConfig, keys: ModelKeys, headers: Record<string, string>): string[] {
  const { provider } = config
  const { needs }: ProviderTraits = providers[provider]
  const problems: string[] = []
  if (needs.includes('base_url') && config.base_url === undefined) problems.push(`base_url: required by ${provider}`)
  if (needs.includes('aws_credentials')) problems.push(...missingAws(config, keys))
  const hasKey = keys.apiKey !== undefined || ['authorization', 'api-key', 'x-api-key', 'x-goog-api-key'].some((name) => headers[name])
  if (needs.includes('api_key') && !hasKey) problems.push(`api_key: required by ${provider}`)
  return problems
}

function missingAws({ provider, region }: ModelConfig, { apiKey, accessKeyId, secretAccessKey }: ModelKeys): string[] {
  const problems: string[] = []
  if (!region?.trim()) problems.push(`region: required by ${provider}`)
  if (apiKey !== undefined) return problems
  if (accessKeyId === undefined && secretAccessKey === undefined) {
    problems.push(`api_key: required by ${provider}, unless access_key_id and secret_access_key are set`)
  } else if (accessKeyId === undefined) problems.push('access_key_id: required with secret_access_key')
  else if (secretAccessKey === undefined) problems.push('secret_access_key: required with access_key_id')
  return problems
}

function credentialsHeader(url: URL | undefined, apiKey: string | undefined): Record<string, string> {
  if (!url || url.username === '' || apiKey !== undefined) return {}
  const pair = `${decode(url.username)}:${decode(url.password)}`
  return { authorization: `Basic ${toBase64(pair)}` }
}

function withoutCredentials(url: URL | undefined): URL | undefined {
  if (!url) return undefined
  const clean = new URL(url)
  clean.username = ''
  clean.password = ''
  return clean
}

/** Secrets to remove from messages, in each form in which a server may repeat them. Values under 4 characters would match ordinary words. */
function secretsOf(values: (string | undefined)[], url: URL | undefined): string[] {
  const inUrl = url ? [url.username, url.password, ...url.search.slice(1).split(/[&=]/)] : []
  // A server may repeat only the key of `Bearer abc`.
  const parts = [...values, ...inUrl].flatMap((value = '') => [value, value.split(' ').at(-1) ?? '', decode(value)])
  const forms = parts
    .filter((secret) => secret.length >= 4)
    .flatMap((secret) => [secret, encodeURIComponent(secret.toWellFormed()), toBase64(secret)])
  // Longest first, because a shorter secret may be a prefix of a longer secret.
  return [...new Set(forms)].sort((a, b) => b.length - a.length)
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

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
