import type { ModelConfig } from '../configuration/schema.ts'
import type { Origin } from './failures.ts'

/** How to reach a model: every `${NAME}` resolved. */
export interface Access {
  apiKey?: string
  /** Without credentials: those became a header. */
  baseUrl?: URL
  headers: Record<string, string>
  region?: string
  accessKeyId?: string
  secretAccessKey?: string
  sessionToken?: string
  origin: Origin
}

type Resolve = (text: string) => string

/** Throws one `Error` with a sentence for each field that is missing or can't be resolved. */
export function resolveAccess(config: ModelConfig, resolve: Resolve): Access {
  const problems: string[] = []
  const text = (field: string, value: string | undefined): string | undefined => {
    if (value === undefined) return undefined
    try {
      return resolve(value).trim()
    } catch (error) {
      problems.push(`${field}: ${error instanceof Error ? error.message : String(error)}`)
      return undefined
    }
  }
  const baseUrl = toUrl(text('base_url', config.base_url), problems)
  const headers = Object.fromEntries(
    Object.entries(config.headers ?? {}).map(([name, value]) => [name.toLowerCase(), text(`headers.${name}`, value) ?? '']),
  )
  const keys = {
    apiKey: text('api_key', config.api_key),
    accessKeyId: text('access_key_id', config.access_key_id),
    secretAccessKey: text('secret_access_key', config.secret_access_key),
    sessionToken: text('session_token', config.session_token),
  }
  problems.push(...missing(config, headers))
  if (baseUrl?.search && isThroughPackage(config.provider)) problems.push(`base_url: ${config.provider} takes no query in it`)
  if (problems.length > 0) throw new Error(problems.join('; '))
  const secrets = secretsOf([...Object.values(keys), ...Object.values(headers)], baseUrl)
  return {
    ...keys,
    region: config.region,
    headers: { ...credentialsHeader(baseUrl, keys.apiKey), ...headers },
    baseUrl: withoutCredentials(baseUrl),
    origin: { label: `${config.provider} ${config.model}`, secrets },
  }
}

function toUrl(text: string | undefined, problems: string[]): URL | undefined {
  if (text === undefined) return undefined
  const url = URL.parse(text)
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  problems.push('base_url: this is not an http(s) address')
  return undefined
}

function isThroughPackage(provider: string): boolean {
  return provider === 'anthropic' || provider === 'google' || provider === 'amazon-bedrock'
}

/** What a provider can't do without. A gateway may be given its key in a header of its own. */
function missing(config: ModelConfig, headers: Record<string, string>): string[] {
  const { provider } = config
  const problems: string[] = []
  if ((provider === 'openai-compatible' || provider === 'azure') && config.base_url === undefined)
    problems.push(`base_url: ${provider} needs one`)
  if (provider === 'amazon-bedrock') return [...problems, ...missingAws(config)]
  const hasKey = config.api_key !== undefined || ['authorization', 'api-key', 'x-api-key', 'x-goog-api-key'].some((name) => name in headers)
  if (provider !== 'openai-compatible' && !hasKey) problems.push(`api_key: ${provider} needs one`)
  return problems
}

function missingAws(config: ModelConfig): string[] {
  const problems: string[] = []
  if (config.region === undefined) problems.push('region: amazon-bedrock needs one')
  if (config.api_key !== undefined) return problems
  if (config.access_key_id === undefined && config.secret_access_key === undefined) {
    problems.push('api_key: amazon-bedrock needs one, or access_key_id and secret_access_key')
  } else if (config.access_key_id === undefined) problems.push('access_key_id: secret_access_key needs one')
  else if (config.secret_access_key === undefined) problems.push('secret_access_key: access_key_id needs one')
  return problems
}

function credentialsHeader(url: URL | undefined, apiKey: string | undefined): Record<string, string> {
  if (!url || url.username === '' || apiKey !== undefined) return {}
  const pair = `${decode(url.username)}:${decode(url.password)}`
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

function withoutCredentials(url: URL | undefined): URL | undefined {
  if (!url) return undefined
  const clean = new URL(url)
  clean.username = ''
  clean.password = ''
  return clean
}

/** Everything that no message may hold, as it stands and decoded. Shorter values can't be told from words. */
function secretsOf(values: (string | undefined)[], url: URL | undefined): string[] {
  const inUrl = url ? [url.username, url.password, ...url.search.slice(1).split(/[&=]/)] : []
  // Of `Bearer abc` the key alone may be repeated by a server.
  const parts = [...values, ...inUrl].flatMap((value = '') => [value, value.split(' ').at(-1) ?? '', decode(value)])
  // The longest first: a shorter one may be its beginning.
  return [...new Set(parts)].filter((secret) => secret.length >= 4).sort((a, b) => b.length - a.length)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
