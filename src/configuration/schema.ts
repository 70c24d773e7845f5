import { Type, type Static, type TSchema } from 'typebox'
import { providers, type Provider } from './providers.ts'

/** The schema of agent.yaml. Fields marked `writeOnly` are secrets: they are never shown, logged or put into a prompt. */

const strict = { additionalProperties: false }

/** A week: what is longer is a mistake, and timers can't wait a month. */
const maxSeconds = 604_800

const mebibyte = 1024 * 1024

/** Entries of `tools`: each is built, kept alive and told to the model, and an entry of a server or a document brings many tools. */
export const maxTools = 500
/** Entries of lists and mappings that nobody writes longer by hand; each is compared and checked with every change. */
const maxEntries = 500
/** Headers, variables of a command, credentials: more than any server takes. */
const maxSecrets = 100

function optional<T extends TSchema>(schema: T) {
  return Type.Optional(schema)
}

const Name = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$',
  description: '1 to 64 letters of A-Z and a-z, digits, "_", ".", ":" and "-".',
})
const Secret = Type.String({ minLength: 1, writeOnly: true, description: 'A value, or "${NAME}" for an environment variable.' })
const Secrets = Type.Record(Type.String(), Type.String(), { writeOnly: true, maxProperties: maxSecrets })
const Address = Type.String({ pattern: '^(https?://|\\$\\{)', description: 'An http(s) address; may hold "${NAME}".' })

export const workflowTypes = ['react', 'plan_execute'] as const

export type WorkflowType = (typeof workflowTypes)[number]

const Prices = Type.Object(
  {
    input: Type.Number({ minimum: 0 }),
    output: Type.Number({ minimum: 0 }),
    cached_input: optional(Type.Number({ minimum: 0 })),
  },
  { ...strict, description: 'USD per million tokens.' },
)

const ModelConfig = Type.Object(
  {
    provider: Type.Enum(Object.keys(providers) as Provider[]),
    model: Type.String({ minLength: 1 }),
    api_key: optional(Secret),
    base_url: optional(Address),
    headers: optional(Secrets),
    temperature: optional(Type.Number({ minimum: 0, maximum: 2 })),
    max_output_tokens: optional(Type.Integer({ minimum: 1 })),
    reasoning_effort: optional(Type.Enum(['minimal', 'low', 'medium', 'high'])),
    images: optional(Type.Boolean({ description: 'Whether the model takes images; default true, for `embedded` false.' })),
    prices: optional(Prices),
    api_version: optional(Type.String({ description: 'azure: the `api-version` of the request.' })),
    // It becomes part of a host's name: nothing else may be made of it.
    region: optional(Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$', description: 'amazon-bedrock: the AWS region.' })),
    access_key_id: optional(Secret),
    secret_access_key: optional(Secret),
    session_token: optional(Secret),
    connect_timeout: optional(Type.Number({ exclusiveMinimum: 0, maximum: 3600, description: 'Seconds; default 10.' })),
    first_token_timeout: optional(
      Type.Number({ exclusiveMinimum: 0, maximum: 3600, description: 'Seconds until the answer begins; default 120.' }),
    ),
    idle_timeout: optional(
      Type.Number({ exclusiveMinimum: 0, maximum: 3600, description: 'Seconds of silence inside an answer; default 60.' }),
    ),
  },
  strict,
)

const Patterns = Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: maxEntries })

const Effect = Type.Enum(['read', 'write'])
const Effects = Type.Record(Type.String(), Effect, {
  maxProperties: 2000,
  description:
    'By tool, without the name of the entry: `read` may be made again after a crash, `write` never is. Default: what it says itself.',
})
const Selector = Type.String({ minLength: 1, maxLength: 500 })
const Only = Type.Array(Selector, { maxItems: maxEntries, description: 'Names, or patterns with "*".' })
const OnlyOperations = Type.Array(Selector, {
  maxItems: maxEntries,
  description: 'Operations by name, patterns with "*", or by tag: `tag:pets`.',
})
const Decider = Type.Enum(['caller', 'role'])
const Host = Type.String({
  pattern: '^(\\*\\.)?[A-Za-z0-9.-]+(:[0-9]+)?$|^\\[[0-9a-fA-F:.]+\\](:[0-9]+)?$',
  description: 'A host without scheme and path: "example.com", "*.example.com" for all under it, "example.com:8443".',
})

const Hosts = Type.Array(Host, { maxItems: maxEntries, description: 'Default: every public host.' })

const OAuth = Type.Object(
  {
    client_id: Type.String({ minLength: 1 }),
    client_secret: Secret,
    scope: optional(Type.String()),
    token_url: optional(Address),
    resource: optional(
      Type.String({
        description:
          'Whom tokens are for (RFC 8707); default: the address of the server. Empty where the authorization server refuses the parameter.',
      }),
    ),
  },
  { ...strict, description: 'Client credentials (RFC 6749, 4.4); `token_url` where another server than this gives the tokens.' },
)

/** A closed object, with a sentence on what it is for. */
function about(description: string) {
  return { ...strict, description }
}

/** What `config` of a tool may hold, by the tool's type. */
export const toolConfigs = {
  calculator: Type.Object({}, about('Calculates exactly, with units and dates.')),
  current_time: Type.Object({}, about('Tells the time in a time zone.')),
  list_files: Type.Object({ paths: optional(Patterns) }, about('Lists files under FILES_ROOT, all or those of `paths`.')),
  read_file: Type.Object({ paths: optional(Patterns) }, about('Reads files under FILES_ROOT, all or those of `paths`.')),
  write_file: Type.Object({}, about('Makes files, which come with the answer.')),
  knowledge_search: Type.Object({ paths: Patterns }, about('Finds passages in the files of `paths`.')),
  data_query: Type.Object(
    {
      tables: Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }), Type.String({ minLength: 1 }), {
        minProperties: 1,
        maxProperties: maxEntries,
      }),
      max_rows: optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
    },
    about('SQL over files: each of `tables` is one under FILES_ROOT.'),
  ),
  mcp: Type.Object(
    {
      url: optional(Address),
      headers: optional(Secrets),
      oauth: optional(OAuth),
      command: optional(Type.String({ minLength: 1, description: 'A server that is started here, and spoken to by its standard input.' })),
      args: optional(Type.Array(Type.String(), { maxItems: maxEntries })),
      env: optional(Secrets),
      cwd: optional(Type.String({ minLength: 1, description: 'Relative to agent.yaml; default: its folder.' })),
      include: optional(Only),
      exclude: optional(Only),
      effects: optional(Effects),
      pin: optional(Type.Boolean({ description: 'A tool whose description or schema changes is not used until somebody accepts it.' })),
    },
    about('A server of the Model Context Protocol: at a `url`, or started by a `command`. Its tools are named `<name>__<tool>`.'),
  ),
  openapi: Type.Object(
    {
      spec: Type.String({ minLength: 1, description: 'A file beside agent.yaml, or an address.' }),
      base_url: optional(Address),
      headers: optional(Secrets),
      credentials: optional(
        Type.Record(Type.String(), Type.String(), {
          writeOnly: true,
          maxProperties: maxSecrets,
          description: 'By security scheme: the key or token; for basic `user:password`, for client credentials `id:secret`.',
        }),
      ),
      token_url: optional(
        Type.String({ ...Address, description: 'For client credentials, in place of the address that the document names.' }),
      ),
      include: optional(OnlyOperations),
      exclude: optional(OnlyOperations),
      effects: optional(Effects),
    },
    about('An HTTP API by its OpenAPI document. Its tools are named `<name>__<operationId>`.'),
  ),
  module: Type.Object(
    { path: Type.String({ minLength: 1, description: 'A TypeScript or JavaScript file, relative to agent.yaml.' }) },
    about('A tool of your own: a file whose default export is one.'),
  ),
  run_python: Type.Object(
    {
      memory_mb: optional(Type.Integer({ minimum: 256, maximum: 4096, description: 'Of one process; default 512.' })),
      keep_minutes: optional(
        Type.Number({ minimum: 0, maximum: 1440, description: 'How long the variables of a conversation are kept; default 10.' }),
      ),
      max_processes: optional(Type.Integer({ minimum: 1, maximum: 64, description: 'Default 4.' })),
    },
    about('Runs Python, shut off from the network and from this machine.'),
  ),
  chart: Type.Object({}, about('Draws charts as SVG or PNG, by Vega-Lite.')),
  web_page: Type.Object({ allowed_hosts: optional(Hosts) }, about('Reads pages of the web as text.')),
  http_request: Type.Object(
    {
      allowed_hosts: optional(Hosts),
      context_hosts: optional(Type.Array(Host, { maxItems: maxEntries, description: "Get the caller's stix headers." })),
      methods: optional(Type.Array(Type.Enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']), { minItems: 1 })),
      headers: optional(
        Type.Record(Host, Secrets, { maxProperties: maxEntries, description: 'By host: sent along, and never shown to the model.' }),
      ),
    },
    about('Sends HTTP requests, to public hosts or to those that are allowed.'),
  ),
} as const satisfies Record<string, TSchema>

export type ToolType = keyof typeof toolConfigs

const ToolConfig = Type.Object(
  {
    name: Name,
    type: optional(Type.String({ description: 'Default: the name.' })),
    description: optional(Type.String({ minLength: 1, description: 'Replaces what the model is told of the tool.' })),
    timeout: optional(Type.Number({ exclusiveMinimum: 0, maximum: 3600, description: 'Seconds; default 30.' })),
    max_output_characters: optional(Type.Integer({ minimum: 100, description: 'Default 20,000.' })),
    effect: optional(Effect),
    approval: optional(
      Type.Enum(['required', 'none'], { description: 'Whether somebody must approve of each call; default: as `approvals` says.' }),
    ),
    by: optional(Decider),
    config: optional(Type.Record(Type.String(), Type.Unknown())),
  },
  strict,
)

const RateLimit = Type.Object(
  {
    requests_per_minute: optional(Type.Integer({ minimum: 1 })),
    concurrent_runs: optional(Type.Integer({ minimum: 1 })),
  },
  strict,
)

const days = (fallback: number, description: string) => Type.Number({ minimum: 0, maximum: 36_500, default: fallback, description })

export const AgentConfigSchema = Type.Object(
  {
    id: Type.String({ minLength: 1, default: 'agent-core' }),
    name: Type.String({ minLength: 1, default: 'Agent Core' }),
    uri_id: Type.String({ minLength: 1, default: 'agent-core' }),
    description: Type.String({ default: 'Answers questions with its tools.' }),
    instructions: Type.String({ default: '', description: 'The system prompt.' }),
    conversation_starters: Type.Array(Type.Object({ title: Type.String(), message: Type.String() }, strict), {
      default: [],
      maxItems: 100,
    }),
    llms: Type.Object(
      {
        primary: ModelConfig,
        fallback: Type.Array(ModelConfig, { default: [], maxItems: 50, description: 'Tried in order when the primary model fails.' }),
        small: optional(ModelConfig),
        embedding: optional(ModelConfig),
      },
      { ...strict, default: { primary: { provider: 'embedded', model: 'rules-1' } } },
    ),
    tools: Type.Array(ToolConfig, { default: [], maxItems: maxTools }),
    approvals: Type.Object(
      {
        effects: Type.Array(Effect, {
          default: [],
          maxItems: 10,
          description: 'Calls of tools with one of these wait until somebody approves of them.',
        }),
        by: Type.Enum(['caller', 'role'], {
          default: 'caller',
          description: 'caller: who asked. role: somebody else, whose role permits runs.approve.',
        }),
        expire_after: Type.Number({
          exclusiveMinimum: 0,
          maximum: maxSeconds,
          default: 86_400,
          description: 'Seconds; a run that waited so long is cancelled.',
        }),
      },
      { ...strict, default: {} },
    ),
    workflow_type: Type.Enum([...workflowTypes], {
      default: 'react',
      description: 'react: step by step. plan_execute: a plan first, which is changed where a step fails.',
    }),
    memory: Type.Object(
      {
        recall: Type.Integer({ minimum: 0, default: 8 }),
        history_tokens: Type.Integer({ minimum: 500, default: 32_000, description: 'How much of a session the model is shown.' }),
      },
      { ...strict, default: {} },
    ),
    sub_agents: Type.Object(
      {
        may_create: Type.Boolean({ default: true }),
        max: Type.Integer({ minimum: 0, maximum: 1000, default: 16 }),
        max_depth: Type.Integer({ minimum: 1, maximum: 20, default: 1 }),
        concurrency: Type.Integer({ minimum: 1, maximum: 1000, default: 4 }),
      },
      { ...strict, default: {} },
    ),
    max_execution_time: Type.Number({ exclusiveMinimum: 0, maximum: maxSeconds, default: 300, description: 'Seconds of one chat.' }),
    max_iterations: Type.Integer({ minimum: 1, default: 25, description: 'Model calls of one chat.' }),
    limits: Type.Object(
      {
        max_input_characters: Type.Integer({ minimum: 1, default: 200_000 }),
        max_runs: Type.Integer({
          minimum: 1,
          default: 5000,
          description: 'Runs that one process has before it takes no more. The last tenth is for callers with few runs.',
        }),
        max_session_wait: Type.Number({
          minimum: 0,
          maximum: maxSeconds,
          default: 30,
          description: 'Seconds that a chat waits for its session.',
        }),
        async_concurrency: Type.Integer({
          minimum: 1,
          default: 16,
          description: 'Async chats that one process runs at a time; the others wait.',
        }),
        reconnect_grace: Type.Number({
          minimum: 0,
          maximum: maxSeconds,
          default: 5,
          description: 'Seconds that a run waits for a reader that left.',
        }),
        max_artifact_bytes: Type.Integer({ minimum: 1, default: 50 * mebibyte, description: 'Of one file that a tool makes.' }),
        max_run_artifacts: Type.Integer({ minimum: 0, default: 100, description: 'Files that the tools of one run may make.' }),
        max_run_artifact_bytes: Type.Integer({ minimum: 1, default: 200 * mebibyte, description: 'Of all files of one run together.' }),
      },
      { ...strict, default: {} },
    ),
    retention: Type.Object(
      {
        sessions: days(365, 'Since the last activity; with all that belongs to them.'),
        runs: days(90, 'Since their end: logs of runs, and results of tools that were run directly. The messages stay.'),
        memories: days(365, 'Since they were learned, or heard again.'),
        deleted_sessions: days(30, 'How long a request of a deleted session, or of a run that is no longer kept, is answered with 410.'),
        access_keys: days(30, 'Since their expiry.'),
        metrics: days(0, 'Hourly figures.'),
      },
      { ...strict, default: {}, description: 'Days after which things are removed; 0: never.' },
    ),
    access: Type.Object(
      {
        roles: Type.Record(Name, Type.Array(Type.String(), { maxItems: 100 }), { default: {}, maxProperties: maxEntries }),
        rate_limits: Type.Record(Name, RateLimit, { default: {}, maxProperties: maxEntries }),
      },
      { ...strict, default: {} },
    ),
  },
  { ...strict, $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'Agent configuration' },
)

export type AgentConfig = Static<typeof AgentConfigSchema>
export type ModelConfig = Static<typeof ModelConfig>
export type ToolConfig = Static<typeof ToolConfig>
