import type { JSONObject, JSONValue, LanguageModelV4ProviderTool, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { ToolOffer } from '../../agent/model.ts'
import type { Provider } from '../../configuration/providers.ts'
import { fieldsOf, isObject } from '../../json/shape.ts'
import { defined } from './call-options.ts'

/** The tools of an agent that the provider runs, in the form of the provider's package. */
export interface OfferedTools {
  tools: LanguageModelV4ProviderTool[]
  /** Claude gets remote MCP servers beside the tools. */
  options?: SharedV4ProviderOptions
}

type Settings = JSONObject
type RunByProvider = ToolOffer & Required<Pick<ToolOffer, 'provider'>>

/** The id of a kind in the provider's package, and its settings; undefined where the provider cannot do what the settings ask for. */
interface Kind {
  id: LanguageModelV4ProviderTool['id']
  toArguments?(settings: Settings, name: string): Settings | undefined
}

/**
 * Translates the offers that the provider runs. An offer is left out where the model has no such tool, or where the provider does not know a
 * setting that keeps the tool within limits, such as a list of domains.
 */
export function toProviderTools(provider: Provider, offers: readonly ToolOffer[], kinds: readonly string[]): OfferedTools {
  const offered = offers.filter((offer): offer is RunByProvider => offer.provider !== undefined && kinds.includes(offer.provider.tool))
  const known = kindsOf[provider] ?? {}
  const tools = offered.flatMap(({ name, provider: { tool, config } }): LanguageModelV4ProviderTool[] => {
    const kind = known[tool]
    const args = kind && (kind.toArguments ?? asTheyAre)(toCamelCase(config), name)
    return kind && args ? [{ type: 'provider', id: kind.id, name: nameAtProvider[kind.id] ?? name, args }] : []
  })
  const servers = provider === 'anthropic' ? offered.filter((offer) => offer.provider.tool === 'mcp').flatMap(toClaudeServer) : []
  return { tools, ...(servers.length > 0 && { options: { anthropic: { mcpServers: servers } } }) }
}

/** The only name by which the package recognises results of the tool. */
const nameAtProvider: Readonly<Record<string, string>> = { 'google.code_execution': 'code_execution' }

const asTheyAre = (settings: Settings): Settings => settings

const domains = ['allowedDomains', 'blockedDomains']

/** A search or a fetch that a list of domains restricts. */
function unlessRestricted(settings: Settings): Settings | undefined {
  return domains.some((name) => name in settings) ? undefined : settings
}

/** Providers want the kind of a place, and know one. */
function withPlace(settings: Settings): Settings {
  const { userLocation: location } = settings
  return isObject(location) ? { ...settings, userLocation: { type: 'approximate', ...location } } : settings
}

const ofClaude: Readonly<Record<string, Kind>> = {
  web_search: { id: 'anthropic.web_search_20250305', toArguments: withPlace },
  fetch: { id: 'anthropic.web_fetch_20250910' },
  code: { id: 'anthropic.code_execution_20250825' },
}

const ofGemini: Readonly<Record<string, Kind>> = {
  web_search: { id: 'google.google_search', toArguments: unlessRestricted },
  fetch: { id: 'google.url_context', toArguments: unlessRestricted },
  code: { id: 'google.code_execution' },
  file_search: { id: 'google.file_search' },
}

const ofOpenAi: Readonly<Record<string, Kind>> = {
  web_search: { id: 'openai.web_search', toArguments: withFilters },
  code: { id: 'openai.code_interpreter' },
  file_search: { id: 'openai.file_search' },
  image_generation: { id: 'openai.image_generation' },
  // Nobody could approve a call: the provider runs the call before the service hears of it.
  mcp: {
    id: 'openai.mcp',
    toArguments: (settings, name) => ({ serverLabel: name, ...settings, requireApproval: 'never' }),
  },
}

const ofXai: Readonly<Record<string, Kind>> = {
  web_search: {
    id: 'xai.web_search',
    toArguments: ({ blockedDomains, ...settings }) =>
      blockedDomains === undefined ? settings : { ...settings, excludedDomains: blockedDomains },
  },
  x_search: { id: 'xai.x_search' },
  code: { id: 'xai.code_execution' },
  file_search: { id: 'xai.file_search' },
  image_generation: { id: 'xai.image_generation' },
  mcp: {
    id: 'xai.mcp',
    toArguments: (settings, name) => ('serverUrl' in settings ? { serverLabel: name, ...settings } : undefined),
  },
}

const kindsOf: Partial<Record<Provider, Readonly<Record<string, Kind>>>> = {
  anthropic: ofClaude,
  google: ofGemini,
  openai: ofOpenAi,
  azure: ofOpenAi,
  xai: ofXai,
}

function withFilters(settings: Settings): Settings {
  const { allowedDomains, blockedDomains, ...rest } = withPlace(settings)
  if (allowedDomains === undefined && blockedDomains === undefined) return rest
  return { ...rest, filters: { ...fieldsOf(rest['filters']), ...defined({ allowedDomains, blockedDomains }) } }
}

/** Claude sends no headers of its own choice to a server, and knows no connectors. */
function toClaudeServer({ name, provider: { config } }: RunByProvider): Settings[] {
  const { serverUrl, authorization, headers, allowedTools } = toCamelCase(config)
  if (serverUrl === undefined || headers !== undefined) return []
  const toolConfiguration = allowedTools === undefined ? undefined : { enabled: true, allowedTools }
  return [{ type: 'url', name, url: serverUrl, ...defined({ authorizationToken: authorization, toolConfiguration }) }]
}

/** The packages write settings in camel case. Names of headers are data. */
function toCamelCase(settings: Readonly<Record<string, unknown>>): Settings {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => {
      const field = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
      return [field, name === 'headers' ? (value as JSONValue) : toInner(value)]
    }),
  )
}

function toInner(value: unknown): JSONValue {
  if (Array.isArray(value)) return value.map(toInner)
  return isObject(value) ? toCamelCase(value) : (value as JSONValue)
}
