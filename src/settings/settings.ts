import path from 'node:path'
import type { Environment } from '../configuration/references.ts'
import { readArtifactStore, type S3Settings } from './artifacts.ts'
import { readConsoleSignIn, type ConsoleSignInSettings } from './console.ts'
import type { VariableName } from './variables.ts'
import { isHost, isOrigin, isOutboundTarget, isPathPrefix, list, readers, type Reader } from './values.ts'

/** Settings of the process, from environment variables. Paths are absolute, sizes in bytes. */
export interface Settings {
  /** 0: any free port. */
  port: number
  host: string
  /** Base address of the service for clients, without a trailing slash. Undefined: `http://HOST:PORT` as bound. */
  publicUrl: string | undefined
  /** Origins whose browser pages may call the service, as browsers send them in the header `origin`. */
  corsOrigins: readonly string[]
  dataDir: string
  agentConfig: string
  filesRoot: string
  artifactShareDir: string
  /** Undefined: artifacts are kept in the data directory. */
  artifactStore: S3Settings | undefined
  /** Undefined: SQLite in the data directory. */
  databaseUrl: string | undefined
  /** Postgres connections of each process, at most. */
  databaseConnections: number
  /** Keys that encrypt the secrets in a shared database, the newest first. Empty: not set. */
  secretKeys: readonly string[]
  accessProvider: AccessProviderSettings | undefined
  /** Undefined: users do not sign in to the console at the identity provider. */
  consoleSignIn: ConsoleSignInSettings | undefined
  adminTenant: string
  /** The longest lifetime of new access keys. */
  keyMaxDays: number
  /** Environment variables to which a configuration sent by PUT may refer. */
  configEnv: readonly string[]
  configCode: 'allow' | 'deny'
  /** Search by meaning may use the embedded encoder. */
  embeddedEncoder: boolean
  /** Hosts, `host:port` or CIDR blocks, in lower case. */
  outboundAllow: readonly string[]
  /** Secrets that sign callbacks, the newest first. Empty: the first start generates a secret. */
  callbackSecrets: readonly string[]
  /** Delays between the attempts to send a callback. */
  callbackRetryMs: readonly number[]
  /** Receives the warnings of budgets. */
  budgetCallbackUrl: string | undefined
  auditCallbackUrl: string | undefined
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
  /** Traces contain messages, and the inputs and outputs of tools. */
  captureContent: boolean
}

export interface AccessProviderSettings {
  jwksUrl: string
  issuer: string
  /** `ACCESS_AUDIENCE`, and with `PUBLIC_URL` the addresses of the service and of its MCP endpoint. */
  audience: readonly string[]
  /** OAuth scopes that clients request; empty for none configured. */
  scopes: readonly string[]
  /** A dotted path. */
  rolesClaim: string | undefined
  /** Tenant of tokens without a tenant claim. */
  tenant: string | undefined
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** A body is held in a single string, and V8's longest string is slightly over 512 MiB. */
const maxBodyLimit = 512 * 1024 * 1024
const minSecretLength = 32

/** All problems of the environment, a line each: the variable, the rule, and the value unless it is secret. */
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
  const folder = (name: VariableName, fallback: string) => path.resolve(cwd, read.text(name) ?? fallback)
  const publicUrl = read.address('PUBLIC_URL')?.replace(/(?<!\/)\/+$/, '')
  const accessProvider = readProvider(read, problems, publicUrl)
  const settings: Settings = {
    port: read.integer('PORT', { fallback: 8080, min: 0, max: 65_535 }),
    host: read.checked('HOST', isHost, 'a host name or an IP address, without scheme and port') ?? '127.0.0.1',
    publicUrl,
    corsOrigins: read.list('CORS_ORIGINS', isOrigin, originRule),
    dataDir: folder('DATA_DIR', '.agent-core'),
    agentConfig: folder('AGENT_CONFIG', 'agent.yaml'),
    filesRoot: folder('FILES_ROOT', 'files'),
    artifactShareDir: folder('ARTIFACT_SHARE_DIR', '/tmp/share'),
    artifactStore: readArtifactStore(read, problems),
    databaseConnections: read.integer('DATABASE_CONNECTIONS', { fallback: 20, min: 2, max: 1000 }),
    databaseUrl: read.secret('DATABASE_URL', isPostgres, postgresRule),
    secretKeys: readSecretKeys(read),
    accessProvider,
    consoleSignIn: readConsoleSignIn(read, problems, accessProvider),
    adminTenant: read.checked('ADMIN_TENANT', isName, nameRule) ?? 'default',
    keyMaxDays: read.integer('KEY_MAX_DAYS', { fallback: 366, min: 1, max: 36_500 }),
    configEnv: read.list('CONFIG_ENV', (name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name), 'names of environment variables'),
    configCode: read.oneOf('CONFIG_CODE', ['allow', 'deny']) ?? 'deny',
    embeddedEncoder: read.oneOf('EMBEDDED_ENCODER', ['on', 'off']) !== 'off',
    outboundAllow: read.list('OUTBOUND_ALLOW', isOutboundTarget, 'hosts, host:port or CIDR blocks').map((target) => target.toLowerCase()),
    callbackSecrets: readCallbackSecrets(read),
    callbackRetryMs: readCallbackRetries(read, problems),
    budgetCallbackUrl: read.address('BUDGET_CALLBACK_URL', { query: true }),
    auditCallbackUrl: read.address('AUDIT_CALLBACK_URL', { query: true }),
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

/** Problems of settings that are valid by themselves but not together. */
function conflicts(settings: Settings, environment: Environment): string[] {
  const problems: string[] = []
  if (environment['DATABASE_URL'] && !environment['SECRET_KEY']) {
    problems.push(`SECRET_KEY is not set. With DATABASE_URL it must be ${secretKeyRule}.`)
  }
  if (settings.workers > 1 && !environment['DATABASE_URL']) {
    problems.push(`WORKERS must be 1 without DATABASE_URL, but is ${settings.workers}.`)
  }
  const path = settings.publicUrl === undefined ? '/' : new URL(settings.publicUrl).pathname
  if (path !== '/' && !isPathPrefix(path)) {
    problems.push(`PUBLIC_URL must have a path of 1 to 8 segments of letters, digits, ".", "_", "~" and "-", or none, but has "${path}".`)
  }
  return [...problems, ...findExposed(settings)]
}

/** Problems where FILES_ROOT contains secrets. Tools read any file there that a conversation names, so the signing key and agent.yaml must be outside. */
export function findExposed({ filesRoot, dataDir, agentConfig }: Pick<Settings, 'filesRoot' | 'dataDir' | 'agentConfig'>): string[] {
  const secret = [
    ['DATA_DIR', dataDir, 'the signing key'],
    ['AGENT_CONFIG', agentConfig, 'keys of models'],
  ] as const
  return secret.flatMap(([name, secretPath, content]) => {
    const inside = path.relative(filesRoot, secretPath)
    if (inside === '..' || inside.startsWith(`..${path.sep}`)) return []
    return [`FILES_ROOT must not contain ${name} ("${secretPath}"), which holds ${content}, but is "${filesRoot}".`]
  })
}

function readProvider(read: Reader, problems: string[], publicUrl: string | undefined): AccessProviderSettings | undefined {
  const provider = {
    // Some identity providers name the policy in the query.
    jwksUrl: read.address('ACCESS_JWKS_URL', { query: true }),
    issuer: read.checked('ACCESS_ISSUER', (text) => /^\S+$/.test(text) && text !== 'agent-core', 'a text without spaces, not "agent-core"'),
    audience: read.text('ACCESS_AUDIENCE'),
    rolesClaim: read.checked(
      'ACCESS_ROLES_CLAIM',
      (text) => /^[^\s.]+(\.[^\s.]+)*$/.test(text),
      'a claim or a path like realm_access.roles',
    ),
    tenant: read.checked('ACCESS_TENANT', isName, nameRule),
    scopes: read.list('ACCESS_SCOPES', (scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope), 'OAuth scopes'),
  }
  const needed = ['ACCESS_JWKS_URL', 'ACCESS_ISSUER', 'ACCESS_AUDIENCE'] as const
  const isSet = (name: VariableName) => read.text(name) !== undefined
  if (!([...needed, 'ACCESS_ROLES_CLAIM', 'ACCESS_TENANT', 'ACCESS_SCOPES'] as const).some(isSet)) return undefined
  for (const name of needed.filter((name) => !isSet(name))) {
    problems.push(`${name} is not set. An identity provider needs ${list(needed)}.`)
  }
  const { jwksUrl, issuer, audience } = provider
  if (!jwksUrl || !issuer || !audience) return undefined
  // Clients of `/mcp` name its address as the resource of their token (RFC 8707).
  const own = publicUrl === undefined ? [] : [publicUrl, `${publicUrl}/mcp`]
  return { ...provider, jwksUrl, issuer, audience: [...new Set([audience, ...own])] }
}

const defaultCallbackRetries = [5, 30, 120, 600, 3600, 14_400, 43_200]
const maxCallbackRetries = 50

const secretKeyRule = `a text of at least ${minSecretLength} characters without spaces`

function readSecretKeys(read: Reader): string[] {
  const fits = (text: string) => split(text).length <= 2 && split(text).every((key) => key.length >= minSecretLength)
  const keys = read.secret('SECRET_KEY', fits, `${secretKeyRule}, or two such texts separated by a space`)
  return keys === undefined ? [] : split(keys)
}

/** Secrets of a variable. During a rotation it holds two, the newest first. */
function split(text: string): string[] {
  return text.trim().split(/\s+/)
}

/** Secrets in the form of Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. */
function readCallbackSecrets(read: Reader): string[] {
  const isSecret = (text: string) => {
    const bytes = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text)?.[1]
    const { length } = Buffer.from(bytes ?? '', 'base64')
    return length >= 24 && length <= 64
  }
  const fits = (text: string) => split(text).length <= 2 && split(text).every(isSecret)
  const rule = 'a secret of whsec_ and 24 to 64 bytes in base64, or two such secrets separated by a space'
  const secrets = read.secret('CALLBACK_SECRET', fits, rule)
  return secrets === undefined ? [] : split(secrets)
}

function readCallbackRetries(read: Reader, problems: string[]): number[] {
  const isDelay = (text: string) => /^\d{1,6}(\.\d{1,3})?$/.test(text) && Number(text) <= 604_800
  const seconds = read.list('CALLBACK_RETRY_SECONDS', isDelay, 'seconds from 0 to 604800')
  if (seconds.length > maxCallbackRetries) {
    problems.push(`CALLBACK_RETRY_SECONDS must have at most ${maxCallbackRetries} delays, but has ${seconds.length}.`)
  }
  return (seconds.length > 0 ? seconds.map(Number) : defaultCallbackRetries).map((delay) => delay * 1000)
}

function readTracing(read: Reader): TracingSettings | undefined {
  const endpoint = read.address('OTEL_EXPORTER_OTLP_ENDPOINT')?.replace(/(?<!\/)\/+$/, '')
  const serviceName = read.checked('OTEL_SERVICE_NAME', isName, nameRule) ?? 'agent-core'
  const captureContent = read.oneOf('OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', ['true', 'false']) === 'true'
  return endpoint === undefined ? undefined : { endpoint, serviceName, captureContent }
}

const originRule =
  'origins like https://app.example.com or https://example.com:8443: scheme, host and port, in lower case and without a path'

const nameRule = 'a name of 1 to 256 characters without control characters'

function isName(text: string): boolean {
  return /^[^\p{Cc}]{1,256}$/u.test(text) && text.trim() === text && text.isWellFormed()
}

const postgresRule = 'a Postgres address (postgres://user:password@host:5432/database, with %40 for "@" and %2F for "/" in each part)'

/** Refuses `@` in the path: part of a password with an unescaped slash would be taken for the database name, which errors show. */
function isPostgres(text: string): boolean {
  return URL.canParse(text) && /^postgres(ql)?:\/\/[^/?#]*(\/[^@?#]*)?([?#].*)?$/is.test(text)
}
