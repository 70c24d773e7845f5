import { Type, type Static } from 'typebox'
import { providers, type Provider } from './providers.ts'
import { Address, Effect, maxEntries, optional, Secret, Secrets, strict } from './schema-parts.ts'

/** The schema of agent.yaml. Fields marked `writeOnly` are secrets, which are never shown, logged or put into a prompt. */

/** A week. Longer times are mistakes, and timers of Node cannot wait a month. */
const maxSeconds = 604_800

const mebibyte = 1024 * 1024

/** The limit of entries in `tools`. Each entry is built, kept alive and sent to the model, and a group brings many tools. */
export const maxTools = 500

const Name = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$',
  description: '1 to 64 letters of A-Z and a-z, digits, "_", ".", ":" and "-".',
})

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
    // The region becomes part of a host name, so the pattern excludes dots and slashes.
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

const Decider = Type.Enum(['caller', 'role'])

const ToolConfig = Type.Object(
  {
    name: Name,
    type: optional(Type.String({ description: 'Default: the name.' })),
    description: optional(Type.String({ minLength: 1, description: "Replaces the tool's own description for the model." })),
    timeout: optional(Type.Number({ exclusiveMinimum: 0, maximum: 3600, description: 'Seconds; default 30.' })),
    max_output_characters: optional(Type.Integer({ minimum: 100, description: 'Default 20,000.' })),
    effect: optional(Effect),
    approval: optional(
      Type.Enum(['required', 'none'], { description: 'Whether each call needs an approval; default: according to `approvals`.' }),
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
          description: 'Calls of tools with these effects wait for an approval.',
        }),
        by: Type.Enum(['caller', 'role'], {
          default: 'caller',
          description: 'caller: the caller of the run. role: another caller, whose role permits runs.approve.',
        }),
        expire_after: Type.Number({
          exclusiveMinimum: 0,
          maximum: maxSeconds,
          default: 86_400,
          description: 'Seconds after which a waiting run is cancelled.',
        }),
      },
      { ...strict, default: {} },
    ),
    workflow_type: Type.Enum([...workflowTypes], {
      default: 'react',
      description: 'react: step by step. plan_execute: a plan first, which is revised when a step fails.',
    }),
    memory: Type.Object(
      {
        recall: Type.Integer({ minimum: 0, default: 8 }),
        history_tokens: Type.Integer({
          minimum: 500,
          default: 32_000,
          description: 'The limit of tokens of a session that are sent to the model.',
        }),
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
          description: 'The limit of runs of one process. The last tenth is reserved for callers with few runs.',
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
          description: 'Async chats that one process runs at a time; further chats wait.',
        }),
        reconnect_grace: Type.Number({
          minimum: 0,
          maximum: maxSeconds,
          default: 5,
          description: 'Seconds that a run waits for a disconnected reader.',
        }),
        max_artifact_bytes: Type.Integer({ minimum: 1, default: 50 * mebibyte, description: 'The size of one file of a tool.' }),
        max_run_artifacts: Type.Integer({ minimum: 0, default: 100, description: 'The number of files of the tools of one run.' }),
        max_run_artifact_bytes: Type.Integer({
          minimum: 1,
          default: 200 * mebibyte,
          description: 'The total size of the files of one run.',
        }),
      },
      { ...strict, default: {} },
    ),
    retention: Type.Object(
      {
        sessions: days(365, 'Since the last activity; with all data of the session.'),
        runs: days(90, 'Since the end of the run: run logs, and results of direct tool executions. The messages stay.'),
        memories: days(365, 'Since the memory was learned or confirmed.'),
        deleted_sessions: days(30, 'How long requests for deleted sessions and runs are answered with 410.'),
        access_keys: days(30, 'Since the expiry of the key.'),
        metrics: days(0, 'Hourly metrics.'),
      },
      { ...strict, default: {}, description: 'Days after which data is deleted; 0: never.' },
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
