import path from 'node:path'
import { resolveReferences, type Environment } from '../../configuration/references.ts'
import type { ToolConfigOf } from '../../configuration/tool-types.ts'
import type { Launch } from './child-process.ts'
import type { RemoteServer } from './http-transport.ts'
import { isSecretName } from '../web/secrets.ts'
import { createSecrets, type Secrets } from './secrets.ts'

export type McpConfig = ToolConfigOf<'mcp'>

/** Where a server is, all `${NAME}` resolved, and what must never be told of it. */
export type Server = ({ kind: 'remote' } & RemoteServer & Hidden) | ({ kind: 'local' } & Launch & Hidden)

interface Hidden {
  secrets: Secrets
}

/** All of the service's environment that a command gets: what programs need to run at all. */
const inherited = ['PATH', 'HOME', 'LANG', 'TMPDIR']

interface Place {
  environment: Environment
  configDir: string
}

/** Throws in words for an operator where a variable is missing or the address is none. */
export function toServer(config: McpConfig, { environment, configDir }: Place): Server {
  const resolve = (text: string) => resolveReferences(text, environment)
  const resolveAll = (values: Readonly<Record<string, string>> = {}) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, resolve(value)]))
  if (config.url !== undefined) return toRemote(config, resolve, resolveAll(config.headers))
  const env = resolveAll(config.env)
  const own = inherited.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]] as const]))
  return {
    kind: 'local',
    command: config.command ?? '',
    args: config.args ?? [],
    cwd: path.resolve(configDir, config.cwd ?? '.'),
    env: { ...Object.fromEntries(own), ...env },
    secrets: createSecrets(Object.values(env), certainIn(Object.entries(env))),
  }
}

function toRemote(config: McpConfig, resolve: (text: string) => string, headers: Record<string, string>): Server {
  const text = resolve(config.url ?? '')
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) throw new Error('The url is no http or https address.')
  const url = new URL(text)
  const { username, password } = url
  // No request may be made of an address with a user in it.
  if (username || password) headers['authorization'] ??= `Basic ${btoa(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)}`
  Object.assign(url, { username: '', password: '', hash: '' })
  const oauth = config.oauth && {
    clientId: config.oauth.client_id,
    clientSecret: resolve(config.oauth.client_secret),
    ...(config.oauth.scope !== undefined && { scope: config.oauth.scope }),
    ...(config.oauth.resource !== undefined && { resource: config.oauth.resource }),
    ...(config.oauth.token_url !== undefined && { tokenUrl: resolve(config.oauth.token_url) }),
  }
  const own = [decodeURIComponent(password), ...(oauth ? [oauth.clientSecret] : [])]
  const named = [...Object.entries(headers), ...url.searchParams]
  const secrets = createSecrets([...named.map(([, value]) => value), ...own], [...certainIn(named), ...own])
  return { kind: 'remote', url, headers, ...(oauth && { oauth }), secrets }
}

/** By their names: most variables and some headers are settings, which stand in many an answer. */
function certainIn(named: readonly (readonly [name: string, value: string])[]): string[] {
  return named.flatMap(([name, value]) => {
    const password = URL.canParse(value) ? decodeURIComponent(new URL(value).password) : ''
    return [...(isSecretName(name) ? [value] : []), ...(password === '' ? [] : [password])]
  })
}
