import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadSettings, SettingsError } from './settings.ts'

const key = 'k'.repeat(32)

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    loadSettings(environment, '/srv')
  } catch (error) {
    assert.ok(error instanceof SettingsError)
    return error.problems
  }
  return []
}

test('an empty environment gives the documented defaults, frozen, with absolute paths', () => {
  const settings = loadSettings({}, '/srv')
  assert.deepEqual(settings, {
    port: 8080,
    host: '127.0.0.1',
    publicUrl: undefined,
    corsOrigins: [],
    dataDir: '/srv/.agent-core',
    agentConfig: '/srv/agent.yaml',
    filesRoot: '/srv/files',
    artifactShareDir: '/tmp/share',
    artifactStore: undefined,
    databaseUrl: undefined,
    databaseConnections: 20,
    secretKeys: [],
    accessProvider: undefined,
    consoleSignIn: undefined,
    adminTenant: 'default',
    keyMaxDays: 366,
    configEnv: [],
    configCode: 'deny',
    embeddedEncoder: true,
    outboundAllow: [],
    callbackSecrets: [],
    callbackRetryMs: [5000, 30_000, 120_000, 600_000, 3_600_000, 14_400_000, 43_200_000],
    budgetCallbackUrl: undefined,
    auditCallbackUrl: undefined,
    httpBodyLimit: 67_108_864,
    workers: 1,
    logLevel: 'info',
    logFormat: undefined,
    metricsPublic: false,
    tracing: undefined,
  })
  assert.ok(Object.isFrozen(settings))
})

test('every variable is read', () => {
  const settings = loadSettings(
    {
      PORT: '0',
      HOST: '::',
      PUBLIC_URL: 'https://agents.example/base/',
      CORS_ORIGINS: 'https://app.example, http://localhost:3000 capacitor://localhost',
      DATA_DIR: '/var/lib/agent',
      AGENT_CONFIG: 'conf/a.yaml',
      FILES_ROOT: '../shared',
      ARTIFACT_SHARE_DIR: 'out',
      DATABASE_URL: 'postgres://u:p@db:5432/agent',
      DATABASE_CONNECTIONS: '50',
      SECRET_KEY: key,
      ACCESS_JWKS_URL: 'https://id.example/keys?p=policy',
      ACCESS_ISSUER: 'https://id.example',
      ACCESS_AUDIENCE: 'agents',
      ACCESS_ROLES_CLAIM: 'realm_access.roles',
      CALLBACK_SECRET: whsec(32),
      CALLBACK_RETRY_SECONDS: '1,2',
      BUDGET_CALLBACK_URL: 'https://ops.example/budgets',
      AUDIT_CALLBACK_URL: 'https://ops.example/audit',
      ACCESS_SCOPES: 'api://agents/chat profile',
      ACCESS_TENANT: 'acme',
      CONSOLE_CLIENT_ID: 'console',
      CONSOLE_CLIENT_SECRET: 'c-secret',
      CONSOLE_SCOPE: 'openid profile',
      CONSOLE_AUTHORIZE_URL: 'https://id.example/authorize?audience=agents',
      CONSOLE_TOKEN_URL: 'https://id.example/token',
      ADMIN_TENANT: 'ops',
      KEY_MAX_DAYS: '30',
      CONFIG_ENV: 'OPENAI_API_KEY, GITHUB_TOKEN',
      CONFIG_CODE: 'allow',
      OUTBOUND_ALLOW: 'Internal.example,10.0.0.0/8 [::1]:8080 localhost:3000,fd00::/8,::1',
      HTTP_BODY_LIMIT: '10kb',
      WORKERS: '4',
      LOG_LEVEL: 'debug',
      LOG_FORMAT: 'pretty',
      METRICS_PUBLIC: 'true',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/',
      OTEL_SERVICE_NAME: 'agents',
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
    },
    '/srv/app',
  )
  assert.deepEqual(settings, {
    port: 0,
    host: '::',
    publicUrl: 'https://agents.example/base',
    corsOrigins: ['https://app.example', 'http://localhost:3000', 'capacitor://localhost'],
    dataDir: '/var/lib/agent',
    agentConfig: '/srv/app/conf/a.yaml',
    filesRoot: '/srv/shared',
    artifactShareDir: '/srv/app/out',
    artifactStore: undefined,
    databaseUrl: 'postgres://u:p@db:5432/agent',
    databaseConnections: 50,
    secretKeys: [key],
    accessProvider: {
      jwksUrl: 'https://id.example/keys?p=policy',
      issuer: 'https://id.example',
      audience: ['agents', 'https://agents.example/base', 'https://agents.example/base/mcp'],
      rolesClaim: 'realm_access.roles',
      tenant: 'acme',
      scopes: ['api://agents/chat', 'profile'],
    },
    consoleSignIn: {
      clientId: 'console',
      clientSecret: 'c-secret',
      scope: 'openid profile',
      authorizeUrl: 'https://id.example/authorize?audience=agents',
      tokenUrl: 'https://id.example/token',
    },
    adminTenant: 'ops',
    keyMaxDays: 30,
    configEnv: ['OPENAI_API_KEY', 'GITHUB_TOKEN'],
    configCode: 'allow',
    embeddedEncoder: true,
    callbackSecrets: [whsec(32)],
    callbackRetryMs: [1000, 2000],
    budgetCallbackUrl: 'https://ops.example/budgets',
    auditCallbackUrl: 'https://ops.example/audit',
    outboundAllow: ['internal.example', '10.0.0.0/8', '[::1]:8080', 'localhost:3000', 'fd00::/8', '::1'],
    httpBodyLimit: 10_240,
    workers: 4,
    logLevel: 'debug',
    logFormat: 'pretty',
    metricsPublic: true,
    tracing: { endpoint: 'http://collector:4318', serviceName: 'agents', captureContent: true },
  })
})

test('all problems are reported at once, a line each with the variable, the rule and the value', () => {
  const problems = problemsOf({
    PORT: '80a',
    HOST: 'http://x',
    PUBLIC_URL: 'agents.example',
    CONFIG_CODE: 'yes',
    CONFIG_ENV: 'A,B-C',
    OUTBOUND_ALLOW: '10.0.0.0/33,ok.example',
    HTTP_BODY_LIMIT: '64 potatoes',
    WORKERS: '0',
    LOG_LEVEL: 'loud',
    LOG_FORMAT: 'xml',
    METRICS_PUBLIC: '1',
  })
  assert.deepEqual(problems, [
    'PUBLIC_URL must be an http:// or https:// address without user, query and fragment, but is "agents.example".',
    'PORT must be a whole number from 0 to 65535, but is "80a".',
    'HOST must be a host name or an IP address, without scheme and port, but is "http://x".',
    'CONFIG_ENV must be names of environment variables, separated by commas, but has "B-C".',
    'CONFIG_CODE must be allow or deny, but is "yes".',
    'OUTBOUND_ALLOW must be hosts, host:port or CIDR blocks, separated by commas, but has "10.0.0.0/33".',
    'HTTP_BODY_LIMIT must be a size up to 512mb, like 64mb, 10kb or 4096 (bytes), but is "64 potatoes".',
    'WORKERS must be a whole number from 1 to 256, but is "0".',
    'LOG_LEVEL must be trace, debug, info, warn, error, fatal or silent, but is "loud".',
    'LOG_FORMAT must be pretty or json, but is "xml".',
    'METRICS_PUBLIC must be true or false, but is "1".',
  ])
})

test('CORS_ORIGINS lists exact origins, as browsers write them', () => {
  const rule = 'origins like https://app.example.com or https://example.com:8443: scheme, host and port, in lower case and without a path'
  const problems = (text: string) => problemsOf({ CORS_ORIGINS: text })
  for (const origin of [
    '*',
    'null',
    'https://*.example',
    'app.example',
    'https://App.example',
    'https://app.example/',
    'https://app.example:443',
  ])
    assert.deepEqual(problems(origin), [`CORS_ORIGINS must be ${rule}, separated by commas, but has "${origin}".`])
  for (const origin of ['https://app.example', 'http://[::1]:3000', 'chrome-extension://abc', 'https://xn--bcher-kva.example'])
    assert.deepEqual(problems(origin), [])
})

test('the path of PUBLIC_URL must be plain', () => {
  const rule = 'PUBLIC_URL must have a path of 1 to 8 segments of letters, digits, ".", "_", "~" and "-", or none, but has'
  assert.deepEqual(problemsOf({ PUBLIC_URL: "https://agents.example/it's" }), [`${rule} "/it's".`])
  assert.deepEqual(problemsOf({ PUBLIC_URL: 'https://agents.example/a//b/' }), [`${rule} "/a//b".`])
  for (const path of ['', '/', '/a', '/a/', '/a/b.c/~d']) assert.deepEqual(problemsOf({ PUBLIC_URL: `https://agents.example${path}` }), [])
})

test('no problem tells a secret', () => {
  const problems = problemsOf({
    DATABASE_URL: 'mysql://root:hunter2@db/x',
    SECRET_KEY: 'hunter2',
    PUBLIC_URL: 'https://me:hunter2@agents.example/?token=hunter2',
    ACCESS_JWKS_URL: 'https://me:hunter2@id.example',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'me:hunter2@collector',
    OUTBOUND_ALLOW: 'https://me:hunter2@host',
    CALLBACK_SECRET: 'hunter2',
  })
  assert.equal(problems.filter((line) => /^(DATABASE_URL|SECRET_KEY|PUBLIC_URL|ACCESS_JWKS_URL|OTEL|OUTBOUND)/.test(line)).length, 6)
  assert.doesNotMatch(problems.join('\n'), /hunter2/)
})

test('an empty variable counts as unset', () => {
  assert.deepEqual(loadSettings({ PORT: '', DATABASE_URL: '', ACCESS_ISSUER: '', WORKERS: '' }, '/srv'), loadSettings({}, '/srv'))
})

test('a store of artifacts is a bucket, of Amazon or where an endpoint says', () => {
  const of = (environment: Record<string, string>) => loadSettings(environment, '/srv').artifactStore
  assert.equal(of({ S3_ENDPOINT: 'http://s3:9000' }), undefined)
  assert.deepEqual(of({ ARTIFACT_STORE: 's3://bucket', AWS_REGION: 'eu-west-1' }), {
    ...{ bucket: 'bucket', prefix: 'artifacts/', region: 'eu-west-1', endpoint: undefined, publicEndpoint: undefined, pathStyle: false },
    credentials: undefined,
  })
  const own = { S3_ENDPOINT: 'http://s3:9000/', S3_PUBLIC_ENDPOINT: 'https://files.test', S3_REGION: 'garage', AWS_REGION: 'eu-west-1' }
  const keys = { AWS_ACCESS_KEY_ID: 'test:tester', AWS_SECRET_ACCESS_KEY: 'a/b+c' }
  assert.deepEqual(of({ ARTIFACT_STORE: 's3://my.bucket/agents/one/', ...own, ...keys }), {
    ...{ bucket: 'my.bucket', prefix: 'agents/one/', region: 'garage', endpoint: 'http://s3:9000', publicEndpoint: 'https://files.test' },
    ...{ pathStyle: true, credentials: { accessKeyId: 'test:tester', secretAccessKey: 'a/b+c' } },
  })
  assert.equal(of({ ARTIFACT_STORE: 's3://bucket', S3_ENDPOINT: 'http://s3:9000', S3_PATH_STYLE: 'false' })?.pathStyle, false)
})

test('a store of artifacts that is none is refused by a line that names the variable, and no secret', () => {
  for (const store of [
    'bucket',
    's3://',
    's3://Bucket',
    's3://b',
    's3://bucket//x',
    's3://bucket/../x',
    's3://bucket/a b',
    'S3://bucket/x?y=1',
  ]) {
    const [problem, ...others] = problemsOf({ ARTIFACT_STORE: store })
    assert.match(problem!, /^ARTIFACT_STORE must be s3:\/\/bucket or .*, but is ".*"\.$/, store)
    assert.deepEqual(others, [])
  }
  const problems = problemsOf({
    ARTIFACT_STORE: 's3://key:hunter2@bucket/x',
    S3_ENDPOINT: 'http://key:hunter2@s3:9000',
    S3_PUBLIC_ENDPOINT: 's3:9000',
    S3_REGION: 'a region',
    S3_PATH_STYLE: 'yes',
  })
  assert.deepEqual(
    problems.map((line) => line.split(' ')[0]),
    ['ARTIFACT_STORE', 'S3_ENDPOINT', 'S3_PUBLIC_ENDPOINT', 'S3_REGION', 'S3_PATH_STYLE'],
  )
  const keys = [
    ...problemsOf({ ARTIFACT_STORE: 's3://bucket', AWS_SECRET_ACCESS_KEY: 'hunter2' }),
    ...problemsOf({ ARTIFACT_STORE: 's3://bucket', AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'hunter2 hunter2' }),
  ]
  assert.deepEqual(keys, [
    'AWS_ACCESS_KEY_ID is not set. AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set together.',
    'AWS_SECRET_ACCESS_KEY is not a text without spaces and line ends.',
  ])
  assert.doesNotMatch([...problems, ...keys].join(), /hunter2/)
})

test('Postgres needs a secret key of at least 32 characters, and more than one worker needs Postgres', () => {
  const database = { DATABASE_URL: 'postgresql://db/x' }
  assert.deepEqual(problemsOf(database), [
    'SECRET_KEY is not set. With DATABASE_URL it must be a text of at least 32 characters without spaces.',
  ])
  assert.match(problemsOf({ ...database, SECRET_KEY: 'k'.repeat(31) })[0] ?? '', /^SECRET_KEY is not a text of at least 32 characters/)
  assert.deepEqual(problemsOf({ ...database, SECRET_KEY: key, WORKERS: '2' }), [])
  assert.deepEqual(loadSettings({ ...database, SECRET_KEY: ` ${'n'.repeat(32)}  ${key}` }).secretKeys, ['n'.repeat(32), key])
  for (const bad of [`${key} short`, `${key} ${key} ${key}`, ' ']) assert.equal(problemsOf({ ...database, SECRET_KEY: bad }).length, 1)
  assert.deepEqual(problemsOf({ WORKERS: '2' }), ['WORKERS must be 1 without DATABASE_URL, but is 2.'])
})

test('an address of Postgres whose password would be read as the name of the database is refused', () => {
  for (const bad of [
    'postgres:user:hunter2@db/x',
    'postgres:/user:hunter2@db/x',
    'postgres:///user:hunter2@db/x',
    'postgres://user:12/hunter2@db/x',
  ]) {
    assert.deepEqual(problemsOf({ DATABASE_URL: bad, SECRET_KEY: key }), [
      'DATABASE_URL is not a Postgres address (postgres://user:password@host:5432/database, with %40 for "@" and %2F for "/" in each part).',
    ])
  }
  for (const good of [
    'postgres://db',
    'postgres:///x?host=/run/postgres',
    'POSTGRES://u:p%2F%40@db:5432/a%40b?options=-c%20x',
    'postgres://u@[::1]/x',
  ])
    assert.deepEqual(problemsOf({ DATABASE_URL: good, SECRET_KEY: key }), [], good)
})

test('an identity provider is set up whole or not at all', () => {
  const whole = { ACCESS_JWKS_URL: 'https://id.example/k', ACCESS_ISSUER: 'https://id.example', ACCESS_AUDIENCE: 'agents' }
  assert.deepEqual(problemsOf(whole), [])
  const needs = 'is not set. An identity provider needs ACCESS_JWKS_URL, ACCESS_ISSUER and ACCESS_AUDIENCE.'
  assert.deepEqual(problemsOf({ ...whole, ACCESS_AUDIENCE: '' }), [`ACCESS_AUDIENCE ${needs}`])
  assert.equal(problemsOf({ ACCESS_TENANT: 'acme' }).length, 3)
  assert.match(problemsOf({ ...whole, ACCESS_ISSUER: 'my issuer' })[0] ?? '', /^ACCESS_ISSUER must be .*, but is "my issuer"/)
  assert.match(problemsOf({ ...whole, ACCESS_ISSUER: 'agent-core' })[0] ?? '', /^ACCESS_ISSUER must be .*, but is "agent-core"/)
  assert.match(problemsOf({ ...whole, ACCESS_ROLES_CLAIM: 'a..b' })[0] ?? '', /^ACCESS_ROLES_CLAIM must be .*, but is "a\.\.b"/)
})

test('the files that a conversation can read never hold the signing key', () => {
  assert.match(problemsOf({ FILES_ROOT: '.' })[0] ?? '', /^FILES_ROOT must not contain DATA_DIR .*, but is "\/srv"/)
  assert.equal(problemsOf({ FILES_ROOT: 'data', DATA_DIR: 'data' }).length, 1)
  assert.match(problemsOf({ FILES_ROOT: 'x', AGENT_CONFIG: 'x/a.yaml' })[0] ?? '', /^FILES_ROOT must not contain AGENT_CONFIG/)
  assert.deepEqual(problemsOf({ FILES_ROOT: 'data', DATA_DIR: 'data-2' }), [])
  assert.deepEqual(problemsOf({ FILES_ROOT: 'data/files', DATA_DIR: 'data' }), [])
})

test('sizes are bytes or carry a unit', () => {
  const limit = (HTTP_BODY_LIMIT: string) => loadSettings({ HTTP_BODY_LIMIT }, '/srv').httpBodyLimit
  assert.deepEqual(['4096', '2MB', '1 kb', '5b', '512mb'].map(limit), [4096, 2_097_152, 1024, 5, 536_870_912])
  for (const wrong of ['0', '-1', '1.5mb', '513mb', '1tb', 'mb']) assert.equal(problemsOf({ HTTP_BODY_LIMIT: wrong }).length, 1, wrong)
})

test('what is no host, port or block is not let out', () => {
  for (const wrong of ['*', '*.example', 'host:0', 'host:70000', '10.0.0/8', '300.1.1.1', '::1/129', 'a/b', '-x', '[10.0.0.1]:80']) {
    assert.equal(problemsOf({ OUTBOUND_ALLOW: wrong }).length, 1, wrong)
  }
})

const whsec = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`

test('CALLBACK_SECRET is one secret of Standard Webhooks, or two; a wrong one is never told', () => {
  assert.deepEqual(loadSettings({ CALLBACK_SECRET: whsec(24) }).callbackSecrets, [whsec(24)])
  assert.deepEqual(loadSettings({ CALLBACK_SECRET: `${whsec(64)}  ${whsec(32)} ` }).callbackSecrets, [whsec(64), whsec(32)])
  const three = [1, 2, 3].map(() => whsec(24)).join(' ')
  for (const bad of ['hidden', whsec(23), whsec(65), three, `${whsec(24)} hidden`, 'whsec_?', `${whsec(24)},${whsec(24)}`]) {
    assert.deepEqual(problemsOf({ CALLBACK_SECRET: bad }), [
      'CALLBACK_SECRET is not a secret of whsec_ and 24 to 64 bytes in base64, or two such secrets separated by a space.',
    ])
  }
})

test('CALLBACK_RETRY_SECONDS is a list of delays', () => {
  assert.deepEqual(loadSettings({ CALLBACK_RETRY_SECONDS: '0, 0.25,3600' }).callbackRetryMs, [0, 250, 3_600_000])
  assert.deepEqual(problemsOf({ CALLBACK_RETRY_SECONDS: '5,-1,soon,604801' }), [
    ...['-1', 'soon', '604801'].map(
      (bad) => `CALLBACK_RETRY_SECONDS must be seconds from 0 to 604800, separated by commas, but has "${bad}".`,
    ),
  ])
  assert.deepEqual(problemsOf({ CALLBACK_RETRY_SECONDS: '1,'.repeat(51) }), [
    'CALLBACK_RETRY_SECONDS must have at most 50 delays, but has 51.',
  ])
})

test('the sign-in of the console needs a client, an identity provider, and addresses of it', () => {
  const provider = { ACCESS_JWKS_URL: 'https://id.example/keys', ACCESS_ISSUER: 'https://id.example', ACCESS_AUDIENCE: 'agents' }
  const addresses = { CONSOLE_AUTHORIZE_URL: 'https://id.example/authorize?audience=x', CONSOLE_TOKEN_URL: 'https://id.example/token' }
  const problemsOf = (environment: Record<string, string>) => {
    try {
      loadSettings(environment, '/srv')
      return []
    } catch (error) {
      return (error as SettingsError).problems
    }
  }
  assert.deepEqual(loadSettings({ ...provider, CONSOLE_CLIENT_ID: 'c' }, '/srv').consoleSignIn, {
    clientId: 'c',
    clientSecret: undefined,
    scope: 'openid',
    authorizeUrl: undefined,
    tokenUrl: undefined,
  })
  assert.equal(loadSettings(provider, '/srv').consoleSignIn, undefined)
  assert.match(problemsOf({ CONSOLE_CLIENT_ID: 'c' }).join(), /^CONSOLE_CLIENT_ID needs an identity provider/)
  assert.match(
    problemsOf({ ...provider, CONSOLE_CLIENT_SECRET: 'hunter2' }).join(),
    /^CONSOLE_CLIENT_ID is not set, but CONSOLE_CLIENT_SECRET is\.$/,
  )
  const half = problemsOf({ ...provider, CONSOLE_CLIENT_ID: 'c', CONSOLE_TOKEN_URL: addresses.CONSOLE_TOKEN_URL })
  assert.match(half.join(), /must be set together/)
  const named = { ...provider, ACCESS_ISSUER: 'company', CONSOLE_CLIENT_ID: 'c' }
  assert.match(problemsOf(named).join(), /because ACCESS_ISSUER is no address/)
  assert.deepEqual(problemsOf({ ...named, ...addresses }), [])
})
