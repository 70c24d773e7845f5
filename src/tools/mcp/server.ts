import path from 'node:path'
import { resolveReferences, type Environment } from '../../configuration/references.ts'
import type { ToolConfigOf } from '../../configuration/tool-types.ts'
import type { Launch } from './child-process.ts'
import type { LoginClient } from './login/login-client.ts'
import type { RemoteServer } from './remote-server.ts'
import { isSecretName } from '../web/secrets.ts'
import { createSecrets, type Secrets } from './secrets.ts'

export type McpConfig = ToolConfigOf<'mcp'>

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
