import { isAiSdkProvider, providers, type ProviderTraits } from '../configuration/providers.ts'
import type { ModelConfig } from '../configuration/schema.ts'
import type { Origin } from './failures.ts'
import { messageOf } from '../errors.ts'

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
      problems.push(`${field}: ${messageOf(error)}`)
      return undefined
    }
  }
  /** What is blank counts as absent; what can't be resolved is no second time told as missing. */
  const key = (field: string, value: string | undefined) => {
    const before = problems.length
    return text(field, value) || (problems.length > before ? unresolved : undefined)
  }
  const baseUrl = toUrl(text('base_url', config.base_url), problems)
  const given = Object.fromEntries(
    Object.entries(config.headers ?? {}).map(([name, value]) => [name.toLowerCase(), key(`headers.${name}`, value) ?? '']),
  )
  const keys = {
    apiKey: key('api_key', config.api_key),
    accessKeyId: key('access_key_id', config.access_key_id),
    secretAccessKey: key('secret_access_key', config.secret_access_key),
    sessionToken: key('session_token', config.session_token),
  }
  problems.push(...missing(config, keys, given))
  if (baseUrl?.search && isAiSdkProvider(config.provider)) problems.push(`base_url: ${config.provider} takes no query in it`)
  if (problems.length > 0) throw new Error(problems.join('; '))
  const headers = { ...credentialsHeader(baseUrl, keys.apiKey), ...given }
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

type Keys = Pick<Access, 'apiKey' | 'accessKeyId' | 'secretAccessKey' | 'sessionToken'>

/** Stands for a value until its problem is thrown. */
const unresolved = '?'

function toUrl(text: string | undefined, problems: string[]): URL | undefined {
  if (text === undefined) return undefined
  const url = URL.parse(text)
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  problems.push('base_url: this is not an http(s) address')
  return undefined
}

/** What a provider can't do without. A gateway may be given its key in a header of its own. */
function missing(config: ModelConfig, keys: Keys, headers: Record<string, string>): string[] {
  const { provider } = config
  const { needs }: ProviderTraits = providers[provider]
  const problems: string[] = []
  if (needs.includes('base_url') && config.base_url === undefined) problems.push(`base_url: ${provider} needs one`)
  if (needs.includes('aws_credentials')) problems.push(...missingAws(config, keys))
  const hasKey = keys.apiKey !== undefined || ['authorization', 'api-key', 'x-api-key', 'x-goog-api-key'].some((name) => headers[name])
  if (needs.includes('api_key') && !hasKey) problems.push(`api_key: ${provider} needs one`)
  return problems
}

function missingAws({ provider, region }: ModelConfig, { apiKey, accessKeyId, secretAccessKey }: Keys): string[] {
  const problems: string[] = []
  if (!region?.trim()) problems.push(`region: ${provider} needs one`)
  if (apiKey !== undefined) return problems
  if (accessKeyId === undefined && secretAccessKey === undefined) {
    problems.push(`api_key: ${provider} needs one, or access_key_id and secret_access_key`)
  } else if (accessKeyId === undefined) problems.push('access_key_id: secret_access_key needs one')
  else if (secretAccessKey === undefined) problems.push('secret_access_key: access_key_id needs one')
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

/** Everything that no message may hold, in each form in which a server may repeat it. Shorter values can't be told from words. */
function secretsOf(values: (string | undefined)[], url: URL | undefined): string[] {
  const inUrl = url ? [url.username, url.password, ...url.search.slice(1).split(/[&=]/)] : []
  // Of `Bearer abc` the key alone may be repeated by a server.
  const parts = [...values, ...inUrl].flatMap((value = '') => [value, value.split(' ').at(-1) ?? '', decode(value)])
  const forms = parts
    .filter((secret) => secret.length >= 4)
    .flatMap((secret) => [secret, encodeURIComponent(secret.toWellFormed()), toBase64(secret)])
  // The longest first: a shorter one may be its beginning.
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
