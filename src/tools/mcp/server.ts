import path from 'node:path'
import { resolveReferences, type Environment } from '../../configuration/references.ts'
import type { ToolConfigOf } from '../../configuration/tool-types.ts'
import { createMask, isSecretName } from '../web/request-headers.ts'
import type { ClientCredentials } from './client-credentials.ts'

const mebibyte = 1024 * 1024

/** Limits per server. An administrator has chosen the server, but the data of the server is untrusted. */
export const limits = {
  /** Size of a message; a result with all images is a single message. */
  messageBytes: 32 * mebibyte,
  /** Total size of all pages of the tool list. */
  listCharacters: 8 * mebibyte,
  listPages: 64,
  /** Usable tools; from a longer list, an administrator has to select with `include`. */
  tools: 500,
  nameCharacters: 128,
  descriptionCharacters: 4096,
  schemaCharacters: 65_536,
  schemaDepth: 64,
  /** Time to check an input, and to compile a schema: a pattern can backtrack endlessly. */
  checkMs: 250,
  compileMs: 1000,
  /** Limits for logging the standard error. */
  logLinesPerMinute: 100,
  logLineCharacters: 500,
  /** Progress notifications of a call that are reported, and how many of them at any rate. */
  progressReports: 50,
  progressBurst: 20,
  /** First pause after the burst. The pauses grow, so that the lines of a call last for 20 minutes. */
  progressPauseMs: 500,
  progressGrowth: 1.25,
  /** Sampling requests of a call, and their size. */
  samples: 5,
  sampleTokens: 4096,
  sampleCharacters: 100_000,
  /** Input-required results of a call, and requests in one. */
  inputRounds: 8,
  inputRequests: 10,
  questionCharacters: 2000,
  /** Pause before a call that the server wants repeated without input. */
  repeatMs: 500,
} as const

export type McpConfig = ToolConfigOf<'mcp'>

/** A command to start. `env` is the whole environment: nothing is inherited from the service. */
export interface Launch {
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
  cwd: string
}

/** Address or command of a server with all `${NAME}` resolved, and the secrets to hide. */
export type Server = ({ kind: 'remote' } & RemoteServer & WithSecrets) | ({ kind: 'local' } & Launch & WithSecrets)

interface WithSecrets {
  secrets: Secrets
}

/** Variables that a command inherits from the service: the minimum that programs need. */
const inheritedNames = ['PATH', 'HOME', 'LANG', 'TMPDIR']

interface ServerContext {
  environment: Environment
  configDir: string
}

/** Throws a reason for an operator when a variable is not set or the address is invalid. */
export function toServer(config: McpConfig, { environment, configDir }: ServerContext): Server {
  const resolve = (text: string) => resolveReferences(text, environment)
  const resolveAll = (values: Readonly<Record<string, string>> = {}) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, resolve(value)]))
  if (config.url !== undefined) return toRemote(config, resolve, resolveAll(config.headers))
  const env = resolveAll(config.env)
  const inheritedEnv = inheritedNames.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]] as const]))
  return {
    kind: 'local',
    command: config.command ?? '',
    args: config.args ?? [],
    cwd: path.resolve(configDir, config.cwd ?? '.'),
    env: { ...Object.fromEntries(inheritedEnv), ...env },
    secrets: createSecrets(Object.values(env), secretValuesIn(Object.entries(env))),
  }
}

function toRemote(config: McpConfig, resolve: (text: string) => string, headers: Record<string, string>): Server {
  const text = resolve(config.url ?? '')
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) throw new Error('url must be an http or https address.')
  const url = new URL(text)
  const { username, password } = url
  // `fetch` refuses an address with a user name or password, so both are sent as a header.
  if (username || password) headers['authorization'] ??= `Basic ${btoa(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)}`
  Object.assign(url, { username: '', password: '', hash: '' })
  const oauth = config.oauth && {
    clientId: config.oauth.client_id,
    clientSecret: resolve(config.oauth.client_secret),
    ...(config.oauth.scope !== undefined && { scope: config.oauth.scope }),
    ...(config.oauth.resource !== undefined && { resource: config.oauth.resource }),
    ...(config.oauth.token_url !== undefined && { tokenUrl: resolve(config.oauth.token_url) }),
  }
  const login = config.login && toLoginClient(config.login, resolve)
  const ownSecrets = [
    decodeURIComponent(password),
    ...(oauth ? [oauth.clientSecret] : []),
    ...(login?.clientSecret ? [login.clientSecret] : []),
  ]
  const namedValues = [...Object.entries(headers), ...url.searchParams]
  const secrets = createSecrets([...namedValues.map(([, value]) => value), ...ownSecrets], [...secretValuesIn(namedValues), ...ownSecrets])
  return { kind: 'remote', url, headers, ...(oauth && { oauth }), ...(login && { login }), secrets }
}

function toLoginClient(
  { client_id, client_secret, client_metadata_url, issuer, scope }: NonNullable<McpConfig['login']>,
  resolve: (text: string) => string,
): LoginClient {
  return {
    ...(client_id !== undefined && { clientId: client_id }),
    ...(client_secret !== undefined && { clientSecret: resolve(client_secret) }),
    ...(client_metadata_url !== undefined && { clientMetadataUrl: client_metadata_url }),
    ...(issuer !== undefined && { issuer: resolve(issuer) }),
    ...(scope !== undefined && { scope }),
  }
}

/** Values that are secrets by their name, and passwords in URLs. Other variables and headers are settings, which occur in ordinary results. */
function secretValuesIn(namedValues: readonly (readonly [name: string, value: string])[]): string[] {
  return namedValues.flatMap(([name, value]) => {
    const password = URL.canParse(value) ? decodeURIComponent(new URL(value).password) : ''
    return [...(isSecretName(name) ? [value] : []), ...(password === '' ? [] : [password])]
  })
}

/** The configured part of a person's login, with resolved secrets. */
export interface LoginClient {
  /** Id of a registered client; absent: the service registers itself. */
  clientId?: string
  clientSecret?: string
  /** Address of a client id metadata document, the id of the client where the authorization server supports such ids. */
  clientMetadataUrl?: string
  /** The only authorization server that is accepted. */
  issuer?: string
  /** Replaces the scopes that the server asks for. */
  scope?: string
}

/** A server at an address, with resolved secrets. */
export interface RemoteServer {
  url: URL
  headers: Readonly<Record<string, string>>
  oauth?: ClientCredentials
  /** How a person logs in; the login itself is stored. */
  login?: LoginClient
}

/** True for a server with configured credentials, which take precedence over a login. */
export function hasOwnCredentials({ headers, oauth }: Pick<RemoteServer, 'headers' | 'oauth'>): boolean {
  return oauth !== undefined || Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
}

/** Replaces secrets in texts of a server, which may contain the key sent with a request. */
export type HideSecrets = (text: string) => string

/** Shorter values would match ordinary words. */
const minCharacters = 5

export interface Secrets {
  /** Hides every configured value, for logs and reasons. */
  hide: HideSecrets
  /** Masks only certain secrets, for results and errors: masking a setting such as `true` or a folder name would damage the data. */
  mask<T>(value: T): T
  /** Adds a secret obtained at run time, such as an access token. */
  add(value: string): void
}

/** `secretValues`: the values that are secrets and not mere settings. */
export function createSecrets(values: readonly string[], secretValues: readonly string[] = values): Secrets {
  let hide = createSecretHider(values)
  let maskText = createMask(secretValues)
  const tokens: string[] = []
  return {
    hide: (text) => hide(text),
    mask(value) {
      if (secretValues.length === 0 && tokens.length === 0) return value
      const text = JSON.stringify(value)
      const masked = maskText(text)
      return masked === text ? value : (JSON.parse(masked) as typeof value)
    },
    add(value) {
      tokens.unshift(value)
      // Two tokens are remembered: a response to a request with the previous token may still arrive.
      tokens.splice(2)
      hide = createSecretHider([...values, ...tokens])
      maskText = createMask([...secretValues, ...tokens])
    },
  }
}

function createSecretHider(values: readonly string[]): HideSecrets {
  // A multi-line secret (a PEM file) is hidden line by line. Longer secrets go first, because a secret may contain another secret.
  const lines = values
    .flatMap((value) => [value, ...value.split('\n'), value.replace(/^(Bearer|Basic)\s+/i, '')])
    .map((line) => line.trim())
  const secrets = [...new Set(lines)].filter((line) => line.length >= minCharacters).sort((a, b) => b.length - a.length)
  return (text) => secrets.reduce((masked, secret) => masked.replaceAll(secret, '********'), text)
}
