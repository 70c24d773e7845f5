import { Type, type Static } from 'typebox'
import { providers, type Provider } from './providers.ts'
import { Address, Effect, maxEntries, optional, Secret, Secrets, strict } from './schema-parts.ts'

/** The schema of agent.yaml. Fields marked `writeOnly` are secrets: they are never shown, logged or put into a prompt. */

/** A week: what is longer is a mistake, and timers can't wait a month. */
const maxSeconds = 604_800

const mebibyte = 1024 * 1024

/** Entries of `tools`: each is built, kept alive and told to the model, and an entry of a server or a document brings many tools. */
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

const Decider = Type.Enum(['caller', 'role'])

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
