import { Type, type Static } from 'typebox'
import { Budgets } from './budget-schema.ts'
import { ContainmentConfig } from './containment-schema.ts'
import { Models } from './model-schema.ts'
import { Skills } from './skills/skills-schema.ts'
import {
  maxEntries,
  Name,
  optional,
  strict,
  Effect,
  count,
  optionalChoice,
  optionalFlag,
  optionalInteger,
  optionalNumber,
  optionalText,
} from './schema-parts.ts'

/**
 * The schema of agent.yaml. Fields marked `writeOnly` are secrets, which are never shown, logged or put into a prompt. Descriptions are shown
 * by the console and in the reference; the last sentence states a default that the schema itself does not have.
 */

/** A week. Longer times are mistakes, and timers of Node cannot wait a month. */
const maxSeconds = 604_800

const mebibyte = 1024 * 1024

/** The limit of entries in `tools`. Each entry is built, kept alive and sent to the model, and a group brings many tools. */
export const maxTools = 500

export const workflowTypes = ['react', 'plan_execute'] as const

export type WorkflowType = (typeof workflowTypes)[number]

/** The schema of an entry of `tools`, without the fields of `config`, which `toolTypes` has for each type. */
export const ToolConfig = Type.Object(
  {
    name: Type.String({
      ...Name,
      description:
        'The name of the tool, unique in `tools`: 1 to 64 letters of A-Z and a-z, digits, "_", ".", ":" and "-". Tools of a group are named `<name>__<tool>`.',
    }),
    type: optionalText('The type of the tool. Default: the name.'),
    description: optionalText("What the tool does, as the model reads it. Default: the tool's own description.", { minLength: 1 }),
    timeout: optionalNumber('Seconds after which a call is stopped and fails. Default: 30.', { exclusiveMinimum: 0, maximum: 3600 }),
    max_output_characters: optionalInteger('The longest output of a call; what is longer is cut. Default: 20,000.', { minimum: 100 }),
    effect: optionalChoice(
      ['read', 'write'],
      'Whether calls change something. After a crash a `read` may be repeated, a `write` never is. Default: as the tool declares.',
    ),
    approval: optionalChoice(['required', 'none'], 'Whether each call waits for an approval. Default: as `approvals.effects` decides.'),
    by: optionalChoice(
      ['caller', 'role'],
      'Who approves calls: the caller of the run, or another caller whose role permits `runs.approve`. Default: `approvals.by`.',
    ),
    trust: optionalChoice(
      ['trusted', 'untrusted'],
      'Whether strangers can write the output of calls, for `containment`. Default: `untrusted` for `web_page`, `http_request`, `mcp`, `openapi` and `provider`.',
    ),
    private: optionalFlag(
      "Whether the output of calls is the tenant's data, for `containment`. Default: true for `data_query`, `knowledge_search`, `read_file`, `mcp` and `openapi`.",
    ),
    outbound: optionalFlag(
      'Whether calls carry text of the model outside, for `containment`. Default: true for `web_page`, `http_request`, `mcp`, `openapi` and `provider`; false for a tool of an MCP server whose `openWorldHint` is false.',
    ),
    config: optional(Type.Record(Type.String(), Type.Unknown(), { description: 'The fields of the type.' })),
  },
  { ...strict, description: 'A tool, or a group of tools.' },
)

/** Rules for calls that wait for an approval. */
const Approvals = Type.Object(
  {
    effects: Type.Array(Effect, {
      default: [],
      maxItems: 10,
      description: 'Calls of tools with these effects wait for an approval: `[write]` for all calls that may change something.',
    }),
    by: Type.Enum(['caller', 'role'], {
      default: 'caller',
      description: '`caller`: the caller of the run decides. `role`: another caller, whose role permits `runs.approve`.',
    }),
    expire_after: Type.Number({
      exclusiveMinimum: 0,
      maximum: 604_800,
      default: 86_400,
      description: 'Seconds after which a run that waits for a decision is cancelled.',
    }),
  },
  { ...strict, default: {}, description: 'Which calls wait for an approval, beside those of tools with `approval: required`.' },
)

const ConversationStarter = Type.Object(
  {
    title: Type.String({ description: 'The label of the button in the console.' }),
    message: Type.String({ description: 'The question that is asked.' }),
  },
  { ...strict, description: 'A question that people can start with.' },
)

const Memory = Type.Object(
  {
    recall: count(8, 'The number of memories of the caller that a chat is given: those that fit the question best. 0: none.', {
      minimum: 0,
    }),
    history_tokens: count(32_000, 'The tokens of a session that the model is shown. Older turns are replaced by a summary.', {
      minimum: 500,
    }),
  },
  { ...strict, default: {}, description: 'What the agent remembers.' },
)

const SubAgents = Type.Object(
  {
    may_create: Type.Boolean({ default: true, description: 'Whether the agent itself may create sub-agents, for the caller of a chat.' }),
    max: count(16, 'The number of sub-agents that one caller may have.', { minimum: 0, maximum: 1000 }),
    max_depth: count(1, '1: the agent gives tasks to sub-agents. 2: sub-agents give tasks to other sub-agents, and so on.', {
      minimum: 1,
      maximum: 20,
    }),
    concurrency: count(4, 'The number of sub-agents that work at the same time in one chat.', { minimum: 1, maximum: 1000 }),
  },
  { ...strict, default: {}, description: 'Agents with a task and tools of their own, to which the agent delegates.' },
)

const seconds = (fallback: number, description: string) => Type.Number({ minimum: 0, maximum: maxSeconds, default: fallback, description })

const Limits = Type.Object(
  {
    max_input_characters: count(200_000, 'The characters of all messages of a request together; a longer request is answered with 413.'),
    max_runs: count(5000, 'The number of runs of one process. The last tenth is reserved for callers with few runs.'),
    max_session_wait: seconds(30, 'Seconds that a chat waits while its session is busy; then the answer is 409 `SessionBusy`.'),
    async_concurrency: count(16, 'The number of asynchronous chats that one process runs at a time; further chats wait.'),
    reconnect_grace: seconds(5, 'Seconds that a run waits for a disconnected reader before it is cancelled.'),
    max_schema_repairs: count(2, 'The times that the model is asked to correct an answer that does not fit its `response_schema`.', {
      minimum: 0,
      maximum: 10,
    }),
    client_tool_wait: seconds(
      600,
      'Seconds that a chat of an OpenAI client waits for the output of its client tools; then it is cancelled. Chats of other clients wait as long as for an approval.',
    ),
    max_client_tool_waits: count(
      100,
      'The number of chats of one caller that wait for the output of client tools. A further one ends the oldest wait of an OpenAI client; where none of them is of an OpenAI client, the answer is 429.',
    ),
    reserve_output_tokens: count(
      8192,
      'With `budgets`: the longest answer of one model call, in tokens, where neither the request nor the model states `max_output_tokens`. So much is held before the call, and sent to the model as its limit.',
      { minimum: 256, maximum: 10_000_000 },
    ),
    max_artifact_bytes: count(50 * mebibyte, 'The bytes of one file that a tool creates.'),
    max_run_artifacts: count(100, 'The number of files that the tools of one run create.', { minimum: 0 }),
    max_run_artifact_bytes: count(200 * mebibyte, 'The bytes of all files that the tools of one run create.'),
    max_upload_bytes: count(50 * mebibyte, 'The bytes of one file that a caller uploads.'),
    max_owner_upload_bytes: count(
      1024 * mebibyte,
      'The bytes of all uploaded files of one caller. Documents of `knowledge_search` do not count here.',
      { minimum: 0 },
    ),
    max_tenant_upload_bytes: count(
      10 * 1024 * mebibyte,
      'The bytes of all uploaded files of one tenant, with the documents of `knowledge_search`.',
      { minimum: 0 },
    ),
  },
  { ...strict, default: {}, description: 'Limits for requests and runs.' },
)

const Schedules = Type.Object(
  {
    enabled: Type.Boolean({ default: true, description: 'Whether schedules fire, and may be created.' }),
    max_per_caller: count(20, 'The number of schedules of one caller that have not ended.', { minimum: 0, maximum: 10_000 }),
    max_per_tenant: count(200, 'The number of schedules of one tenant that have not ended.', { minimum: 0, maximum: 100_000 }),
    min_interval: count(60, 'Seconds between two times of a schedule, at least.', { minimum: 60, maximum: 86_400 }),
    offline_days: count(
      30,
      'Days since the last request of a caller of an identity provider, whose roles may have changed since: then the schedules of the caller pause.',
      { minimum: 1, maximum: 3650 },
    ),
  },
  { ...strict, default: {}, description: 'Questions that callers have asked again and again, or once at a time.' },
)

const OpenAi = Type.Object(
  {
    unknown_parameters: Type.Enum(['refuse', 'ignore'], {
      default: 'refuse',
      description:
        'What happens to parameters of chat completions and responses that the service does not know, such as `top_k`. `refuse`: a 400 that names the parameter. `ignore`: the parameter has no effect.',
    }),
  },
  { ...strict, default: {}, description: 'The agent for clients of OpenAI’s API.' },
)

const days = (fallback: number, description: string) => Type.Number({ minimum: 0, maximum: 36_500, default: fallback, description })

const Retention = Type.Object(
  {
    sessions: days(365, 'Days since the last activity of a session; with all data of the session.'),
    runs: days(90, 'Days since the end of the run: run logs, and results of direct tool executions. The messages stay.'),
    memories: days(365, 'Days since the memory was learned or confirmed.'),
    deleted_sessions: days(30, 'Days for which requests for deleted sessions and runs are answered with 410.'),
    access_keys: days(30, 'Days since the expiry of the key.'),
    uploads: days(30, 'Days since the upload of a file. Documents of `knowledge_search` stay until they are deleted.'),
    metrics: days(0, 'Days for which hourly metrics are kept.'),
    audit: days(400, 'Days for which the ledger keeps events. What follows the removed events can still be verified.'),
  },
  { ...strict, default: {}, description: 'Days after which data is deleted; 0: never.' },
)

const Audit = Type.Object(
  {
    enabled: Type.Boolean({
      default: true,
      description: 'Whether acts are recorded. A change of this field is recorded always.',
    }),
    reads: Type.Boolean({
      default: false,
      description: "Whether reads of the ledger, and of other callers' sessions and runs, are recorded too. Exports are recorded always.",
    }),
  },
  { ...strict, default: {}, description: 'The ledger of acts: who did what. Chats and reads of own data are no acts.' },
)

const Evals = Type.Object(
  {
    concurrency: count(2, 'The examples that one process replays at the same time.'),
    max_datasets: count(100, 'The datasets of one tenant.'),
    max_examples: count(1000, 'The examples of one dataset.'),
  },
  { ...strict, default: {}, description: 'Datasets of examples, and experiments that replay the examples.' },
)

const Gate = Type.Object(
  {
    dataset: Type.String({
      minLength: 1,
      maxLength: 64,
      description: "The name or the id of a dataset of the administrators' tenant (`ADMIN_TENANT`).",
    }),
    min_pass_rate: Type.Number({ minimum: 0, maximum: 1, default: 0.95, description: 'The part of the replays that pass, at least.' }),
    max_added_writes: count(
      0,
      'The writes that the new configuration would make and the recordings do not have, at most: added ones, and those with other arguments.',
      { minimum: 0 },
    ),
    max_age_hours: Type.Number({
      exclusiveMinimum: 0,
      maximum: 8760,
      default: 24,
      description: 'Hours since the end of the experiment, at most.',
    }),
  },
  {
    ...strict,
    description:
      'A change of the configuration needs an experiment on the dataset: the newest completed one whose last variant is the changed configuration. Without it, a change is answered with 409 `GateNotPassed`, and an edit of the file is not applied.',
  },
)

const Releases = Type.Object(
  { gate: optional(Gate) },
  { ...strict, description: 'What a change of the configuration has to show before it is used.' },
)

const RateLimit = Type.Object(
  {
    requests_per_minute: optionalInteger('The requests of one caller in any 60 seconds; more are answered with 429. Default: no limit.', {
      minimum: 1,
    }),
    concurrent_runs: optionalInteger('The runs of one caller that have not ended; more are answered with 429. Default: no limit.', {
      minimum: 1,
    }),
  },
  { ...strict, description: 'The limits of callers with this role.' },
)

const Access = Type.Object(
  {
    roles: Type.Record(Name, Type.Array(Type.String(), { maxItems: 100, description: 'The permissions of the role.' }), {
      default: {},
      maxProperties: maxEntries,
      description: 'Roles beside `viewer`, `user`, `operator`, `admin` and `auditor`: the name of the role, and a list of its permissions.',
    }),
    rate_limits: Type.Record(Name, RateLimit, {
      default: {},
      maxProperties: maxEntries,
      description:
        'Limits by role; `default` applies to roles without an entry. A caller with several roles has the highest limit of them.',
    }),
  },
  { ...strict, default: {}, description: 'What callers may do, and how often.' },
)

export const AgentConfigSchema = Type.Object(
  {
    id: Type.String({ minLength: 1, default: 'agent-core', description: 'The id of the agent, in its metadata and in traces.' }),
    name: Type.String({ minLength: 1, default: 'Agent Core', description: 'The name of the agent, as people see it.' }),
    uri_id: Type.String({ minLength: 1, default: 'agent-core', description: 'The name of the model for OpenAI clients.' }),
    description: Type.String({
      default: 'Answers questions with its tools.',
      description: 'What the agent is for, in its metadata and on its public agent card.',
    }),
    instructions: Type.String({ default: '', description: 'The system prompt.' }),
    conversation_starters: Type.Array(ConversationStarter, {
      default: [],
      maxItems: 100,
      description: 'Questions that are offered to people who are new to the agent.',
    }),
    llms: Models,
    tools: Type.Array(ToolConfig, { default: [], maxItems: maxTools, description: 'The tools of the agent.' }),
    skills: Skills,
    approvals: Approvals,
    containment: optional(ContainmentConfig),
    workflow_type: Type.Enum([...workflowTypes], {
      default: 'react',
      description: '`react`: step by step. `plan_execute`: a plan first, which is revised when a step fails.',
    }),
    response_schema: optional(
      Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
        description:
          'JSON Schema of every answer, for requests that bring none. `null` in a request lifts it. Default: answers are any text.',
      }),
    ),
    memory: Memory,
    sub_agents: SubAgents,
    max_execution_time: Type.Number({
      exclusiveMinimum: 0,
      maximum: maxSeconds,
      default: 300,
      description: 'Seconds after which a chat ends with the best answer so far. Time that a run waits for an approval does not count.',
    }),
    max_iterations: count(25, 'The model calls of one chat. The last call is made without tools, so that it answers.'),
    openai: OpenAi,
    budgets: Budgets,
    schedules: Schedules,
    limits: Limits,
    retention: Retention,
    access: Access,
    audit: Audit,
    evals: Evals,
    releases: optional(Releases),
  },
  { ...strict, $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'Agent configuration' },
)

export type AgentConfig = Static<typeof AgentConfigSchema>

export type { ModelConfig } from './model-schema.ts'

export type ToolConfig = Static<typeof ToolConfig>
