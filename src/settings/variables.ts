/** The environment variables of the service, as `serve --help` and the reference show them. Readers accept no other name. */

export interface Variable {
  /** What the variable sets, as sentences. */
  description: string
  /** The value that an unset variable has. */
  default?: string
  /** What applies while the variable is unset, where no value of the variable says so. */
  unset?: string
  /** True if the value is never shown. */
  isSecret?: true
}

export interface VariableGroup {
  title: string
  variables: Readonly<Record<string, Variable>>
}

const server = {
  PORT: { default: '8080', description: 'The port on which the service listens. 0: any free port, which the start prints.' },
  HOST: { default: '127.0.0.1', description: 'The address on which the service listens. `0.0.0.0` or `::`: all addresses of the machine.' },
  PUBLIC_URL: {
    unset: 'the host of the request',
    description:
      'The address at which clients reach the service, for links, origins and cookies. Its path is the prefix of every route. Unset, a proxy may state scheme and prefix in `x-forwarded-proto` and `x-forwarded-prefix`.',
  },
  CORS_ORIGINS: {
    default: '',
    description:
      'The origins of browser pages that may call the service from another address, separated by commas: `https://app.example.com, http://localhost:3000`. They need a key all the same.',
  },
  HTTP_BODY_LIMIT: {
    default: '64mb',
    description:
      'The largest body of a request that may contain images. `tool/execute`, `/mcp`, approvals and the configuration accept 4 MiB, other routes 1 MiB.',
  },
  WORKERS: { default: '1', description: 'The number of processes that share the port. More than one requires `DATABASE_URL`.' },
} satisfies VariableGroup['variables']

const folders = {
  DATA_DIR: {
    default: '.agent-core',
    description: 'The folder of the database, the signing keys, `admin.key`, artifacts and caches. Only one service at a time can use it.',
  },
  AGENT_CONFIG: {
    default: 'agent.yaml',
    description: "The agent's configuration. Without `serve --init`, a missing file stops the start.",
  },
  FILES_ROOT: {
    default: 'files',
    description: 'The folder that file tools, `context_files` and images may read. It must not contain `DATA_DIR` and `AGENT_CONFIG`.',
  },
  ARTIFACT_SHARE_DIR: {
    default: '/tmp/share',
    description:
      'The folder to which `POST /core/v1/share_agent_artifact` copies files. It must not be a symbolic link. In a world-writable folder, it must belong to the user of the service or to root, or be a mount point.',
  },
} satisfies VariableGroup['variables']

const database = {
  DATABASE_URL: {
    unset: 'SQLite in `DATA_DIR`',
    isSecret: true,
    description:
      'The Postgres database, `postgres://user:password@host:5432/database`. Several processes may share it. Requires `SECRET_KEY`.',
  },
  SECRET_KEY: {
    isSecret: true,
    description:
      'Encrypts the secrets that the database holds for all processes; the same for all of them. While it is changed: two, separated by a space, the new one first.',
  },
  DATABASE_CONNECTIONS: {
    default: '20',
    description: 'The most Postgres connections of each process. One more is used to listen for notifications.',
  },
} satisfies VariableGroup['variables']

const artifacts = {
  ARTIFACT_STORE: {
    unset: 'files in `DATA_DIR`',
    description:
      'The bucket for artifacts on Amazon S3 or a compatible server: `s3://bucket/prefix`. The prefix defaults to `artifacts` and must belong to one database only.',
  },
  S3_ENDPOINT: { unset: "Amazon's endpoint of the region", description: 'The address of a compatible server.' },
  S3_PUBLIC_ENDPOINT: {
    unset: '`S3_ENDPOINT`',
    description: 'The address at which clients reach the bucket; download links are signed for it.',
  },
  S3_REGION: {
    unset: '`AWS_REGION`, `AWS_DEFAULT_REGION`, then `us-east-1`',
    description: 'The region of the bucket.',
  },
  AWS_REGION: { description: 'The region, if `S3_REGION` is unset.' },
  AWS_DEFAULT_REGION: { description: 'The region, if `S3_REGION` and `AWS_REGION` are unset.' },
  S3_PATH_STYLE: {
    unset: '`true` with `S3_ENDPOINT`, else `false`',
    description: 'Whether addresses are `<endpoint>/<bucket>` instead of `<bucket>.<endpoint>`.',
  },
  AWS_ACCESS_KEY_ID: {
    unset: "the SDK's default chain: a profile, or the role of the machine or container",
    isSecret: true,
    description: 'The id of the access key for the bucket. Set together with `AWS_SECRET_ACCESS_KEY`.',
  },
  AWS_SECRET_ACCESS_KEY: { isSecret: true, description: 'The secret of the access key.' },
  AWS_SESSION_TOKEN: { isSecret: true, description: 'The session token of temporary credentials.' },
} satisfies VariableGroup['variables']

const access = {
  ACCESS_JWKS_URL: { description: 'Accepts keys of an identity provider too: the address of its public keys (JWKS).' },
  ACCESS_ISSUER: { description: 'The `iss` of its keys. Required with `ACCESS_JWKS_URL`.' },
  ACCESS_AUDIENCE: {
    description:
      'The `aud` that its keys must have. Required with `ACCESS_JWKS_URL`. With `PUBLIC_URL`, keys for `PUBLIC_URL` and `PUBLIC_URL/mcp` are accepted too.',
  },
  ACCESS_ROLES_CLAIM: {
    unset: 'its keys have no roles',
    description: 'The claim that holds the roles, or the path to it, such as `realm_access.roles`: a list, or words separated by spaces.',
  },
  ACCESS_SCOPES: {
    unset: '`openid`; a role if `ACCESS_ROLES_CLAIM` is `scope` or `scp`',
    description: 'The OAuth scopes that MCP clients request from the identity provider, separated by commas.',
  },
  ACCESS_TENANT: { unset: 'such keys are refused', description: 'The tenant of its keys that have no claim `tenant`.' },
  KEY_MAX_DAYS: {
    default: '366',
    description:
      'The most days for which a new access key can be valid, over HTTP and on the command line. Existing keys keep their expiry.',
  },
  ADMIN_TENANT: {
    default: 'default',
    description: 'The tenant whose administrators may read and change the configuration, which serves all tenants.',
  },
} satisfies VariableGroup['variables']

const consoleSignIn = {
  CONSOLE_CLIENT_ID: {
    description:
      'Lets users sign in to the console at the identity provider (authorization code flow with PKCE): the id of the console as a client there, with the redirect address `PUBLIC_URL/console/sign-in`.',
  },
  CONSOLE_CLIENT_SECRET: { unset: 'a public client', isSecret: true, description: 'The secret of a confidential client.' },
  CONSOLE_SCOPE: { default: 'openid', description: 'The scopes that the console asks for.' },
  CONSOLE_AUTHORIZE_URL: {
    unset: 'by discovery from `ACCESS_ISSUER`',
    description: 'The authorization endpoint. Set together with `CONSOLE_TOKEN_URL`.',
  },
  CONSOLE_TOKEN_URL: { unset: 'by discovery from `ACCESS_ISSUER`', description: 'The token endpoint.' },
} satisfies VariableGroup['variables']

const configuration = {
  CONFIG_ENV: {
    default: '',
    description:
      'The environment variables that a change of the configuration over HTTP may refer to with `${NAME}`. The file may use any.',
  },
  CONFIG_CODE: {
    default: 'deny',
    description: 'Whether a change of the configuration over HTTP may bring in commands and code.',
  },
} satisfies VariableGroup['variables']

const search = {
  EMBEDDED_ENCODER: {
    default: 'on',
    description:
      'Whether search by meaning may use the embedded encoder, where `llms.embedding` is not set. `off`: words alone are searched then. The encoder is a process of its own with about 300 MB, started by a search and ended after two minutes without work.',
  },
} satisfies VariableGroup['variables']

const outbound = {
  OUTBOUND_ALLOW: {
    default: '',
    description:
      'What callbacks, `web_page` and `http_request` may reach although it is not public. Servers named in agent.yaml need no entry.',
  },
  CALLBACK_SECRET: {
    unset: 'made at the first start',
    isSecret: true,
    description: 'Signs callbacks. While it is changed: two, separated by a space, the new one first.',
  },
  CALLBACK_RETRY_SECONDS: {
    default: '5,30,120,600,3600,14400,43200',
    description: 'The delays between the attempts to deliver a callback, in seconds.',
  },
  BUDGET_CALLBACK_URL: {
    unset: 'only a line of the log',
    description:
      'Receives the warnings of `budgets` (`warn_at`), signed like callbacks. An address that is not public needs `OUTBOUND_ALLOW`.',
  },
  AUDIT_CALLBACK_URL: {
    unset: 'only the table of heads',
    description:
      'Receives the signed heads of the audit ledger, signed like callbacks. Only a head that lies elsewhere shows that the end of a ledger was cut off. An address that is not public needs `OUTBOUND_ALLOW`.',
  },
} satisfies VariableGroup['variables']

const observation = {
  LOG_LEVEL: { default: 'info', description: 'The least important messages that are logged.' },
  LOG_FORMAT: { unset: '`pretty` on a terminal, else `json`', description: 'The form of the log.' },
  METRICS_PUBLIC: { default: 'false', description: 'Whether `GET /metrics` needs no key.' },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    unset: 'no traces',
    description:
      'Sends traces of runs to this collector, with OTLP over HTTP. `OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_RESOURCE_ATTRIBUTES` work as OpenTelemetry defines them.',
  },
  OTEL_SERVICE_NAME: { default: 'agent-core', description: 'The name of the service in traces.' },
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: {
    default: 'false',
    description: 'Whether traces contain messages, and inputs and outputs of tools.',
  },
} satisfies VariableGroup['variables']

/** All variables, in the order of the reference. */
export const variableGroups: readonly VariableGroup[] = [
  { title: 'Server', variables: server },
  { title: 'Files and folders', variables: folders },
  { title: 'Database', variables: database },
  { title: 'Artifacts on S3', variables: artifacts },
  { title: 'Access', variables: access },
  { title: 'Sign-in to the console', variables: consoleSignIn },
  { title: 'Configuration over HTTP', variables: configuration },
  { title: 'Search', variables: search },
  { title: 'Callbacks and outbound requests', variables: outbound },
  { title: 'Logs, metrics and traces', variables: observation },
]

/** The name of a variable of the service. */
export type VariableName =
  | keyof typeof server
  | keyof typeof folders
  | keyof typeof database
  | keyof typeof artifacts
  | keyof typeof access
  | keyof typeof consoleSignIn
  | keyof typeof configuration
  | keyof typeof search
  | keyof typeof outbound
  | keyof typeof observation
