import path from 'node:path'
import type { Environment } from '../configuration/references.ts'
import { readArtifactStore, type S3Settings } from './artifacts.ts'
import { isHost, isOutboundTarget, list, readers, type Reader } from './values.ts'

/** How the process is set up. Paths are absolute, sizes in bytes. */
export interface Settings {
  /** 0: any free port. */
  port: number
  host: string
  /** Without a slash at the end; undefined: `http://HOST:PORT` as it is bound. */
  publicUrl: string | undefined
  dataDir: string
  agentConfig: string
  filesRoot: string
  artifactShareDir: string
  /** Undefined: artifacts are kept in the data directory. */
  artifactStore: S3Settings | undefined
  /** Undefined: SQLite in the data directory. */
  databaseUrl: string | undefined
  /** To Postgres, of each process, at most. */
  databaseConnections: number
  /** What wraps the secrets in a shared database, the new one first; empty: not set. */
  secretKeys: readonly string[]
  accessProvider: AccessProviderSettings | undefined
  adminTenant: string
  /** Environment names that a configuration PUT may bring in. */
  configEnv: readonly string[]
  configCode: 'allow' | 'deny'
  /** Hosts, `host:port` or CIDR blocks, in lower case. */
  outboundAllow: readonly string[]
  /** What callbacks are signed with, the new one first; empty: one is made at the first start. */
  callbackSecrets: readonly string[]
  /** Delays between the attempts to send a callback. */
  callbackRetryMs: readonly number[]
  httpBodyLimit: number
  workers: number
  logLevel: LogLevel
  /** Undefined: `pretty` on a terminal, else `json`. */
  logFormat: 'pretty' | 'json' | undefined
  metricsPublic: boolean
  tracing: TracingSettings | undefined
}

export interface TracingSettings {
  /** The collector's base address, without a slash at the end. */
  endpoint: string
  serviceName: string
  /** Whether traces hold messages, and what tools took and gave. */
  captureContent: boolean
}

export interface AccessProviderSettings {
  jwksUrl: string
  issuer: string
  audience: string
  /** A dotted path. */
  rolesClaim: string | undefined
  /** The tenant of tokens that name none. */
  tenant: string | undefined
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** One string holds a body, and the engine's longest string is a little over 512 MiB. */
const maxBodyLimit = 512 * 1024 * 1024
const minSecretLength = 32

/** Every problem of the environment: a line each that names the variable, what it was (no secrets) and what it must be. */
export class SettingsError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'SettingsError'
    this.problems = problems
  }
}

/** Reads the settings; an empty variable counts as unset. Throws `SettingsError` with all problems at once. */
export function loadSettings(environment: Environment, cwd = '.'): Readonly<Settings> {
  const problems: string[] = []
  const read = readers(environment, problems)
  const folder = (name: string, fallback: string) => path.resolve(cwd, read.text(name) ?? fallback)
  const settings: Settings = {
    port: read.integer('PORT', { fallback: 8080, min: 0, max: 65_535 }),
    host: read.checked('HOST', isHost, 'a host name or an IP address, without scheme and port') ?? '127.0.0.1',
    publicUrl: read.address('PUBLIC_URL')?.replace(/(?<!\/)\/+$/, ''),
    dataDir: folder('DATA_DIR', '.agent-core'),
    agentConfig: folder('AGENT_CONFIG', 'agent.yaml'),
    filesRoot: folder('FILES_ROOT', 'files'),
    artifactShareDir: folder('ARTIFACT_SHARE_DIR', '/tmp/share'),
    artifactStore: readArtifactStore(read, problems),
    databaseConnections: read.integer('DATABASE_CONNECTIONS', { fallback: 20, min: 2, max: 1000 }),
    databaseUrl: read.secret('DATABASE_URL', isPostgres, postgresRule),
    secretKeys: readSecretKeys(read),
    accessProvider: readProvider(read, problems),
    adminTenant: read.checked('ADMIN_TENANT', isName, nameRule) ?? 'default',
    configEnv: read.list('CONFIG_ENV', (name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name), 'names of environment variables'),
    configCode: read.oneOf('CONFIG_CODE', ['allow', 'deny']) ?? 'deny',
    outboundAllow: read.list('OUTBOUND_ALLOW', isOutboundTarget, 'hosts, host:port or CIDR blocks').map((target) => target.toLowerCase()),
    callbackSecrets: readCallbackSecrets(read),
    callbackRetryMs: readCallbackRetries(read, problems),
    httpBodyLimit: read.size('HTTP_BODY_LIMIT', { fallback: 64 * 1024 * 1024, max: maxBodyLimit }),
    workers: read.integer('WORKERS', { fallback: 1, min: 1, max: 256 }),
    logLevel: read.oneOf('LOG_LEVEL', logLevels) ?? 'info',
    logFormat: read.oneOf('LOG_FORMAT', ['pretty', 'json']),
    metricsPublic: read.oneOf('METRICS_PUBLIC', ['true', 'false']) === 'true',
    tracing: readTracing(read),
  }
  problems.push(...conflicts(settings, environment))
  if (problems.length > 0) throw new SettingsError(problems)
  return Object.freeze(settings)
}

/** What is wrong with settings that are right one by one. */
function conflicts(settings: Settings, environment: Environment): string[] {
  const problems: string[] = []
  if (environment['DATABASE_URL'] && !environment['SECRET_KEY']) {
    problems.push(`SECRET_KEY is not set; with DATABASE_URL it must be ${secretKeyRule}.`)
  }
  if (settings.workers > 1 && !environment['DATABASE_URL']) {
    problems.push(`WORKERS is ${settings.workers}; without DATABASE_URL it must be 1.`)
  }
  return [...problems, ...findExposed(settings)]
}

/** What file tools, which read what a conversation asks them to, must not reach: the signing key, and keys in agent.yaml. */
export function findExposed({ filesRoot, dataDir, agentConfig }: Pick<Settings, 'filesRoot' | 'dataDir' | 'agentConfig'>): string[] {
  const secret = [
    ['DATA_DIR', dataDir, 'the signing key'],
    ['AGENT_CONFIG', agentConfig, 'keys of models'],
  ] as const
  return secret.flatMap(([name, place, what]) => {
    const inside = path.relative(filesRoot, place)
    if (inside === '..' || inside.startsWith(`..${path.sep}`)) return []
    return [`FILES_ROOT is "${filesRoot}"; it must not contain ${name} ("${place}"), which holds ${what}.`]
  })
}

function readProvider(read: Reader, problems: string[]): AccessProviderSettings | undefined {
  const provider = {
    // Some providers name the policy in the query.
    jwksUrl: read.address('ACCESS_JWKS_URL', { query: true }),
    issuer: read.checked('ACCESS_ISSUER', (text) => /^\S+$/.test(text) && text !== 'agent-core', 'a text without spaces, not "agent-core"'),
    audience: read.text('ACCESS_AUDIENCE'),
    rolesClaim: read.checked(
      'ACCESS_ROLES_CLAIM',
      (text) => /^[^\s.]+(\.[^\s.]+)*$/.test(text),
      'a claim or a path like realm_access.roles',
    ),
    tenant: read.checked('ACCESS_TENANT', isName, nameRule),
  }
  const needed = ['ACCESS_JWKS_URL', 'ACCESS_ISSUER', 'ACCESS_AUDIENCE'] as const
  const given = (name: string) => read.text(name) !== undefined
  if (![...needed, 'ACCESS_ROLES_CLAIM', 'ACCESS_TENANT'].some(given)) return undefined
  for (const name of needed.filter((name) => !given(name))) {
    problems.push(`${name} is not set; an identity provider needs ${list(needed)}.`)
  }
  const { jwksUrl, issuer, audience } = provider
  return jwksUrl && issuer && audience ? { ...provider, jwksUrl, issuer, audience } : undefined
}

const defaultCallbackRetries = [5, 30, 120, 600, 3600, 14_400, 43_200]
const maxCallbackRetries = 50

const secretKeyRule = `a text of at least ${minSecretLength} characters without spaces`

function readSecretKeys(read: Reader): string[] {
  const fits = (text: string) => split(text).length <= 2 && split(text).every((key) => key.length >= minSecretLength)
  const found = read.secret('SECRET_KEY', fits, `${secretKeyRule}, or two such, separated by a space`)
  return found === undefined ? [] : split(found)
}

/** Two secrets in one variable, while one follows the other. */
function split(text: string): string[] {
  return text.trim().split(/\s+/)
}

/** As Standard Webhooks has them: 24 to 64 bytes in base64. */
function readCallbackSecrets(read: Reader): string[] {
  const isSecret = (text: string) => {
    const bytes = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text)?.[1]
    const { length } = Buffer.from(bytes ?? '', 'base64')
    return length >= 24 && length <= 64
  }
  const fits = (text: string) => split(text).length <= 2 && split(text).every(isSecret)
  const found = read.secret('CALLBACK_SECRET', fits, 'a secret of whsec_ and 24 to 64 bytes in base64, or two such, separated by a space')
  return found === undefined ? [] : split(found)
}

function readCallbackRetries(read: Reader, problems: string[]): number[] {
  const isDelay = (text: string) => /^\d{1,6}(\.\d{1,3})?$/.test(text) && Number(text) <= 604_800
  const seconds = read.list('CALLBACK_RETRY_SECONDS', isDelay, 'seconds from 0 to 604800')
  if (seconds.length > maxCallbackRetries) {
    problems.push(`CALLBACK_RETRY_SECONDS has ${seconds.length} delays; it must have at most ${maxCallbackRetries}.`)
  }
  return (seconds.length > 0 ? seconds.map(Number) : defaultCallbackRetries).map((one) => one * 1000)
}

function readTracing(read: Reader): TracingSettings | undefined {
  const endpoint = read.address('OTEL_EXPORTER_OTLP_ENDPOINT')?.replace(/(?<!\/)\/+$/, '')
  const serviceName = read.checked('OTEL_SERVICE_NAME', isName, nameRule) ?? 'agent-core'
  const captureContent = read.oneOf('OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', ['true', 'false']) === 'true'
  return endpoint === undefined ? undefined : { endpoint, serviceName, captureContent }
}

const nameRule = 'a name of 1 to 256 characters without control characters'

function isName(text: string): boolean {
  return /^[^\p{Cc}]{1,256}$/u.test(text) && text.trim() === text && text.isWellFormed()
}

const postgresRule = 'a Postgres address (postgres://user:password@host:5432/database, with %40 for "@" and %2F for "/" in each part)'

/** A password with a slash that is not percent-encoded may stand in the path, and errors name the database: `@` is refused there. */
function isPostgres(text: string): boolean {
  return URL.canParse(text) && /^postgres(ql)?:\/\/[^/?#]*(\/[^@?#]*)?([?#].*)?$/is.test(text)
}
