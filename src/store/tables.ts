import type { Generated } from 'kysely'
import type { DecisionKind, WaitsFor } from '../agent/approval.ts'
import type { ChangeKind } from '../configuration/configuration-store.ts'

/** The tables, equal on SQLite and Postgres: time is epoch milliseconds, structured values are JSON text. */
export interface Tables {
  sessions: SessionRow
  messages: MessageRow
  runs: RunRow
  run_steps: RunStepRow
  metrics: MetricsRow
  access_keys: AccessKeyRow
  console_codes: ConsoleCodeRow
  console_sessions: ConsoleSessionRow
  processes: ProcessRow
  jobs: JobRow
  async_events: AsyncEventRow
  callbacks: CallbackRow
  task_notifications: TaskNotificationRow
  media: MediaRow
  artifacts: ArtifactRow
  uploads: UploadRow
  upload_usage: UploadUsageRow
  knowledge_documents: KnowledgeDocumentRow
  knowledge_revisions: KnowledgeRevisionRow
  sub_agents: SubAgentRow
  memories: MemoryRow
  memory_sources: MemorySourceRow
  memory_owners: MemoryOwnerRow
  feedback: FeedbackRow
  approvals: ApprovalRow
  run_tails: RunTailRow
  run_tools: RunToolRow
  configurations: ConfigurationRow
  configuration_texts: ConfigurationTextRow
  secrets: SecretRow
  tool_pins: ToolPinRow
  search_vectors: SearchVectorRow
  search_leases: SearchLeaseRow
  search_segments: SearchSegmentRow
  search_slices: SearchSliceRow
  search_documents: SearchDocumentRow
  budget_windows: BudgetWindowRow
  budget_reservations: BudgetReservationRow
  run_messages: RunMessageRow
  schedules: ScheduleRow
  schedule_fires: ScheduleFireRow
  schedule_media: ScheduleMediaRow
  audit_events: AuditEventRow
  audit_heads: AuditHeadRow
  audit_chains: AuditChainRow
  datasets: DatasetRow
  examples: ExampleRow
  example_media: ExampleMediaRow
  experiments: ExperimentRow
  experiment_results: ExperimentResultRow
}

/** `owner` is `<issuer> <sub>` in every table: the owner of the row within the tenant. */
export interface SessionRow {
  tenant: string
  owner: string
  session_id: string
  /** Internal id, never reused. Rows of a session refer to this key, so that a late write to a deleted session finds nothing. */
  key: string
  short_name: string
  checkpoint_id: string
  /** Request id of the run that may write to the session now. */
  active_run: string | null
  message_count: number
  /** Index of the first message that is sent to the model. */
  window_start: number
  /** JSON; summary of the turns before the window. */
  summary: string | null
  created_at: number
  updated_at: number
  /** JSON. */
  metadata: string | null
  /** 1: the session of an unstored run alone, which is removed with the run and not listed; null otherwise. */
  unstored: number | null
}

export interface MessageRow {
  tenant: string
  session: string
  idx: number
  role: 'human' | 'ai'
  content: string
  created_at: number
  /** JSON `MessageData`: data of a message beside its text. */
  data: string | null
}

export interface RunRow {
  tenant: string
  owner: string
  request_id: string
  session: string | null
  session_id: string
  operation: string
  body_hash: string
  /** JSON; the request, for a resume in another process. Removed when the run has ended and cannot be resumed. */
  request: string | null
  /** `gone`: a tombstone of a run whose session was deleted, or which expired. Only the ids, `created_at` and `gone_at` are set. */
  status: string
  on_disconnect: string
  /** The process that runs the run; empty: unclaimed. `fence` counts takeovers: a write with an older fence changes nothing. */
  holder: string
  fence: number
  /** Order of arrival in the session's queue. */
  place: number
  message_index: number | null
  agent: string
  model: string
  created_at: number
  started_at: number | null
  ended_at: number | null
  finish_reason: string | null
  /** 1: a repeated request resumes from the last checkpoint. */
  continuable: number
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  latency_ms: number
  /** JSON, an `Error` of the API. */
  error: string | null
  /** JSON, a `CompactLog`: the numbered events. */
  log: string | null
  /** Milliseconds of execution before the last interruption; 0 without an interruption. */
  ran_ms: number
  /** Rank of an async run in the fair queue of all callers; null for other runs. */
  work_rank: number | null
  /** Epoch milliseconds when the run became a tombstone. */
  gone_at: number | null
  /** JSON `Losses`: how often in a row the run has lost its process; null: never. */
  losses: string | null
  /** The `sub` of the owner; null for direct tool executions. */
  sub: string | null
  /** The start of the human message; null for direct tool executions, tombstones, and runs of versions without the column. */
  input: string | null
  /** Version of the configuration that executed the run last; null as `input`. */
  config_version: string | null
  /** USD; null before the end, and where no model of the run has a price. */
  cost: number | null
  /** Failed tool calls of an ended run; null for none. */
  tool_errors: number | null
  /** 1: the run has, or has had, rows in `task_notifications`; null: never. */
  has_notifications: number | null
  /** 1: the run is not listed, and removed soon after the end; null otherwise. */
  unstored: number | null
  /** Number of `run_messages` addressed to the run so far, and number of waiting messages; null for none. */
  message_ranks?: number | null
  open_messages?: number | null
  /** Request id of the run whose undelivered message is the question of this run; null for other runs. */
  continues?: string | null
}

export interface RunStepRow {
  tenant: string
  owner: string
  request_id: string
  n: number
  data: string
}

export interface MetricsRow {
  tenant: string
  /** Epoch milliseconds of the hour's start, plus the row number (0 to 7). */
  hour: number
  success: Generated<number>
  error: Generated<number>
  cancelled: Generated<number>
  timeout: Generated<number>
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  latency_ms: number
  min_latency_ms: number
  max_latency_ms: number
  /** Ended runs of the hour that are no longer in the logs: their session was deleted, or they expired. */
  removed: Generated<number>
}

export interface AccessKeyRow {
  jti: string
  tenant: string
  sub: string
  /** JSON array. */
  roles: string
  created_at: number
  expires_at: number
  revoked_at: number | null
  /** Exact to a minute. */
  last_used_at: number | null
  /** The caller that created the key over HTTP, `<issuer> <sub>`, and the `jti` of the caller's key; null where unknown. */
  created_by: string | null
  created_by_key: string | null
}

/** A session of the console. `hash` is the SHA-256 of the cookie's value. */
export interface ConsoleSessionRow {
  hash: string
  tenant: string
  issuer: string
  /** The `jti` of the key; of a token without one, its SHA-256. */
  key_id: string
  /** JSON `Identity` of the key. */
  identity: string
  created_at: number
  expires_at: number
}

/** A one-time code for a sign-in at the console. `hash` is the SHA-256 of the code. */
export interface ConsoleCodeRow extends ConsoleSessionRow {
  used_at: number | null
}

export interface ProcessRow {
  id: string
  alive_until: number
  /** Epoch milliseconds. Null, like the next two, for a process of a former version. */
  started_at: number | null
  host: string | null
  version: string | null
}

/** A job to be done; deleted when done. On Postgres, jobs are in the tables of pg-boss instead. */
export interface JobRow {
  id: string
  kind: string
  tenant: string
  /** JSON. */
  data: string
  /** Epoch milliseconds. A claim moves `due_at` to the end of the lease, so that no other worker claims the job before. */
  due_at: number
  /** Number of claims; also the fence of the worker that holds the job. */
  attempts: number
  /** First due time, or that of the last requeue. A job that fails for a day since then is given up. */
  wanted_at: number
  /** Jobs with lower ranks are claimed first. */
  rank: number
}

/** An accepted event of an asynchronous chat. */
export interface AsyncEventRow {
  tenant: string
  owner: string
  /** SHA-256 of the event's source and id, which are texts of any length chosen by the caller. */
  event: string
  request_id: string
  session_id: string
  created_at: number
}

export interface CallbackRow {
  tenant: string
  owner: string
  request_id: string
  event_id: string
  url: string
  status: string
  /** JSON array. */
  attempts: string
  /** `round` counts manual resends, `tries` the attempts of the current round. */
  round: number
  tries: number
  created_at: number
  /** Epoch milliseconds; null before the first attempt, and where no further attempt is planned. */
  next_attempt_at: number | null
}

/** An address that is notified when a run waits or has ended. */
export interface TaskNotificationRow {
  tenant: string
  owner: string
  request_id: string
  /** Unique within the run. */
  id: string
  url: string
  /** JSON with the secrets of the receiver and the form of notifications, encrypted with SECRET_KEY, except on SQLite. */
  sealed: string
  /** 1: notifications may contain links to files. */
  links: number
  status: string
  /** Number of changes of the run that were to be sent; `tries` counts the attempts for the last. */
  round: number
  tries: number
  created_at: number
  /** JSON array. */
  attempts: string
  /** As of callbacks. */
  next_attempt_at: number | null
}

/** An image of a human message or of a tool result. */
export interface MediaRow {
  tenant: string
  session: string
  request_id: string
  n: number
  media_type: string
  /** Base64. */
  data: string
}

/** A file of a message; the bytes are in the artifact store under `session` and `id`. */
export interface ArtifactRow {
  tenant: string
  owner: string
  /** UUIDv7. A fork has the files of its source under the same ids. */
  id: string
  /** The session's key; `session_id` is the id that callers use. */
  session: string
  session_id: string
  request_id: string
  name: string
  /** MIME type. */
  type: string
  /** Bytes. */
  size: number
  sha256: string
  tool: string
  created_at: number
}

/** A file that a caller sent; the bytes are in the artifact store. */
export interface UploadRow {
  tenant: string
  owner: string
  /** UUIDv7. */
  id: string
  /** `knowledge`: a document of the tenant. Empty while other uploads are arriving. */
  purpose: string
  name: string
  /** MIME type. */
  type: string
  /** Bytes; of an arriving upload, the reserved bytes. */
  size: number
  sha256: string
  /** 0: the bytes are arriving until `expires_at`. */
  is_stored: number
  created_at: number
  /** Epoch milliseconds; null: no end of its own. */
  expires_at: number | null
}

/** Bytes of uploads, including arriving and expired uploads. Kept by triggers of `uploads`. */
export interface UploadUsageRow {
  tenant: string
  /** Empty: all uploads of the tenant. Otherwise the uploads of the owner, without documents of the tenant. */
  owner: string
  bytes: number
}

/** A document of a tenant for `knowledge_search`: an upload with the purpose `knowledge`. */
export interface KnowledgeDocumentRow {
  tenant: string
  /** Id of the upload. */
  id: string
  name: string
  /** Hash of the content. */
  version: string
  /** 1: earlier documents of the same name are removed when this one is ready. */
  replaces?: number | null
  state: 'waiting' | 'indexing' | 'ready' | 'failed'
  /** Why the document failed. */
  error: string | null
  /** JSON object. */
  metadata: string
  /** Of the tenant when the document became ready; 0 before. */
  revision: number
  /** Null before the document is ready, and for documents that became ready before version 30 of the schema. */
  passages?: number | null
}

/** Counts of changes to the documents of a tenant. */
export interface KnowledgeRevisionRow {
  tenant: string
  /** Documents that became ready. */
  revision: number
  /** Documents that were removed. */
  removals: number
}

export interface SubAgentRow {
  tenant: string
  owner: string
  id: string
  name: string
  description: string
  objective: string
  /** JSON array of names. */
  tools: string
  workflow_type: 'react' | 'plan_execute'
  made_by: 'caller' | 'agent'
  /** 1: the last run of the sub-agent failed. */
  has_failed: number
  /** The process of the sub-agent's last work, and when its busy lease expires unless renewed. */
  busy_by: string
  busy_until: number
  created_at: number
  last_active: number
}

export interface MemoryRow {
  tenant: string
  owner: string
  id: string
  /** `fact`, `preference` or `lesson`. */
  kind: string
  /** Source of the statement: `user` or `tool`. */
  origin: string
  /** `untrusted`: learned from text of strangers. */
  trust: 'trusted' | 'untrusted'
  content: string
  created_at: number
  updated_at: number
  /** The embedding model, and its vector as Base64 of 32-bit floats. */
  embedding_model: string | null
  embedding: string | null
}

/** The message that a memory was learned from. `session` is the session's key, `session_id` the id that callers use. */
export interface MemorySourceRow {
  tenant: string
  memory: string
  session: string
  session_id: string
  message_index: number
  /** `retain <request id>` or `feedback <request id>`: prevents a second extraction from the same run. */
  made_by: string
  created_at: number
}

/** Version of a caller's memories; every change increments `version`. */
export interface MemoryOwnerRow {
  tenant: string
  owner: string
  version: number
}

export interface FeedbackRow {
  tenant: string
  owner: string
  request_id: string
  score: number
  comment: string | null
  created_at: number
}

/** Events of a running run, for readers on other replicas. */
export interface RunTailRow {
  tenant: string
  owner: string
  request_id: string
  /** Fence of the process that wrote the row. */
  fence: number
  /** Numbers of the events. */
  first: number
  last: number
  /** `restored`: events from before the takeover. `restored_at`: event number to which readers with later events rewind; null: no loss. */
  restored: number
  restored_at: number | null
  /** JSON, compact. */
  events: string
}

/** A tool that an ended run has called. */
export interface RunToolRow {
  tenant: string
  owner: string
  request_id: string
  tool: string
  /** `sub`, `config_version` and `created_at` of the run, for the index. */
  sub: string
  config_version: string | null
  created_at: number
  /** The end of the run that wrote the row; null in rows of earlier versions. */
  ended_at: number | null
  calls: number
  errors: number
  /** JSON array of milliseconds, of the first calls; null in rows of earlier versions. */
  durations: string | null
}

/** A tool call that waits for approval or for its client, or was decided; kept as long as its session. */
export interface ApprovalRow {
  tenant: string
  owner: string
  request_id: string
  call_id: string
  /** Position among the calls that were requested together, from 0. */
  place: number
  session_id: string
  tool: string
  /** JSON. */
  input: string
  by: WaitsFor
  /** JSON: the origins of text of strangers, on a call held by containment; else null. */
  sources: string | null
  requested_at: number
  expires_at: number
  /** `lapsed`: the run ended before a decision. */
  decision: DecisionKind | 'lapsed' | null
  /** JSON: what replaces `input`, or the output of a client tool. */
  new_input: string | null
  /** Why a call was rejected, or the error of a client tool. */
  reason: string | null
  /** Owner (`<issuer> <sub>`) who decided. */
  decided_by: string | null
  decided_at: number | null
  /** Epoch milliseconds when a process began the call. */
  started_at: number | null
  /** Of the hashes of the call in the ledger; null: not recorded. */
  salt: string | null
}

/** Configurations in order; the highest number is in use. On SQLite the file is authoritative, and this is its history. */
export interface ConfigurationRow {
  n: number
  version: string
  kind: ChangeKind
  /** The text, and the parts of the text that are in memory only. Encrypted with SECRET_KEY, except on SQLite. */
  content: string
  /** JSON array of the paths that changed. */
  diff: string
  /** JSON; the caller who made the change. */
  made_by: string | null
  made_at: number
}

/** Keyed hashes of file texts that were seen, each with the number of the last configuration that had the text. */
export interface ConfigurationTextRow {
  id: string
  n: number
}

/** Secrets that all processes of the service share. */
export interface SecretRow {
  name: string
  /** Encrypted with SECRET_KEY. */
  sealed: string
  changed_at: number
}

/** Accepted tool definitions of an MCP server. */
export interface ToolPinRow {
  entry: string
  /** Hash of the address or command of the server. */
  server: string
  /** JSON; `Pin` by tool name. */
  tools: string
  /** Increases with each change, from 1. */
  revision: number
}

export interface SearchVectorRow {
  encoder: string
  /** Hash of the text. */
  hash: string
  /** Accurate to a day. */
  used_at: number
  /** Signed bytes as Base64. */
  vector: string
}

export interface SearchLeaseRow {
  encoder: string
  /** The process that may compute vectors of the encoder. */
  holder: string
  until: number
}

/**
 * A part of the index of the session search, with the position of its last session in the order of activity. `owner` is the owner whose sessions
 * are indexed, or empty for the sessions of all owners, in this table and the next two.
 */
export interface SearchSegmentRow {
  tenant: string
  owner: string
  /** From 0, oldest first. */
  segment: number
  last_updated_at: number
  last_session_id: string
  last_owner: string
}

/** Which documents of a segment have a slice. A slice that no document has is not stored. */
export interface SearchSliceRow {
  tenant: string
  owner: string
  segment: number
  slice: number
  /** A bit for each document, as Base64. */
  bits: string
}

/** A document of the index: some messages of a session. `document` grows with the activity of sessions. */
export interface SearchDocumentRow {
  tenant: string
  owner: string
  document: number
  session: string
}

/** What was spent and is reserved in a window of a budget. Amounts are units of 10^-9 USD; names with `tokens` are tokens. */
export interface BudgetWindowRow {
  /** `serviceTenant` for the service as a whole. */
  tenant: string
  budget: string
  /** `Account.subject`. */
  subject: string
  /** 0 where the window is the life of a run or session. */
  window_start: number
  scope: string
  spent: Generated<number>
  reserved: Generated<number>
  overrun: Generated<number>
  estimated: Generated<number>
  tokens_spent: Generated<number>
  tokens_reserved: Generated<number>
  tokens_overrun: Generated<number>
  tokens_estimated: Generated<number>
  /** The limit of agent.yaml when the window was last entered; null: none. */
  usd_limit: number | null
  tokens_limit: number | null
  /** Applies until `override_until`; null: no override of this part. */
  usd_override: number | null
  tokens_override: number | null
  override_until: number | null
  override_by: string | null
  warned_at: number | null
}

/** What an attempt of a model call may cost at most, on one window. The rows of an attempt have the same `id`. */
export interface BudgetReservationRow {
  tenant: string
  id: string
  /** The tenant of the window. */
  window_tenant: string
  budget: string
  subject: string
  window_start: number
  owner: string
  /** Empty for a call outside of runs. */
  request_id: string
  fence: number
  holder: string
  amount: number
  tokens: number
  created_at: number
}

/** A message that was sent to a run while the run went on. */
export interface RunMessageRow {
  tenant: string
  owner: string
  /** The run that the message was sent to, and the number of the message there, from 1. */
  request_id: string
  position: number
  message_id: string
  /** The run that delivers the message, and the order of delivery. Another run than `request_id` when that one has ended before. */
  target_id: string
  rank: number
  mode: 'steer' | 'follow_up'
  content: string
  created_at: number
  delivered_at: number | null
}

export interface ScheduleRow {
  tenant: string
  owner: string
  id: string
  /** JSON `ScheduleSettings`. */
  settings: string
  /** JSON `ScheduledRequest`. */
  request: string
  /** JSON `Identity`. */
  identity: string
  issuer: string
  seen_at: number
  /** The request id of the creation: a repeat creates no other schedule. */
  created_by_request: string
  body_hash: string
  status: string
  pause_reason: string | null
  next_at: number | null
  /** When the engine looks at the schedule: `next_at` with its jitter, or sooner where an occurrence waits for a run. */
  due_at: number | null
  watermark: number
  queued_for: number | null
  fires: number
  /** The last fire with a run. */
  last_for: number | null
  last_request_id: string | null
  counts_from: number
  /** Changes by callers, for `etag`. */
  version: string
  /** Grows with every write: a firing that has read another revision changes nothing. */
  revision: number
  created_at: number
  updated_at: number
}

export interface ScheduleFireRow {
  tenant: string
  schedule_id: string
  scheduled_for: number
  fired_at: number
  outcome: string
  reason: string | null
  /** Number of occurrences that the row stands for. */
  count: number
  owner: string
  /** The request id of the run; null without one. */
  run_id: string | null
}

/** Bytes of an image (`part` images) or of a file that the model reads itself (`files`), as base64. */
export interface ScheduleMediaRow {
  tenant: string
  schedule_id: string
  part: string
  n: number
  owner: string
  media_type: string
  data: string
}

type TablesWith<Columns> = { [Table in keyof Tables]: Tables[Table] extends Columns ? Table : never }[keyof Tables]
type Named<Fates, Fate> = { [Table in keyof Fates]: Fates[Table] extends Fate ? Table : never }[keyof Fates]

/** Treatment of a run's rows in other tables when the run becomes a tombstone. Rows of `async_events` expire on their own, files stay with their session. */
const rowsOfRun = {
  run_steps: 'removed',
  callbacks: 'removed',
  task_notifications: 'removed',
  feedback: 'removed',
  approvals: 'removed',
  run_tails: 'removed',
  run_tools: 'removed',
  async_events: 'kept',
  artifacts: 'kept',
  budget_reservations: 'kept',
  run_messages: 'removed',
  experiments: 'kept',
} as const satisfies Record<Exclude<TablesWith<{ owner: string; request_id: string }>, 'runs'>, 'removed' | 'kept'>

/** Treatment of a session's rows in other tables when the session is removed. */
const rowsOfSession = {
  messages: 'removed',
  media: 'removed',
  artifacts: 'removed',
  runs: 'marked',
  memory_sources: 'forgotten',
  search_documents: 'removed',
  examples: 'removed',
  example_media: 'removed',
  experiment_results: 'removed',
} as const satisfies Record<TablesWith<{ session: string }> | 'runs', 'removed' | 'marked' | 'forgotten'>

export const removedWithRun = tablesOf(rowsOfRun, 'removed')
export const removedWithSession = tablesOf(rowsOfSession, 'removed')

function tablesOf<Fates extends Record<string, string>, Fate extends Fates[keyof Fates]>(fates: Fates, fate: Fate): Named<Fates, Fate>[] {
  return Object.keys(fates).filter((table) => fates[table] === fate) as Named<Fates, Fate>[]
}

/** An act. Nothing but the seal and the removal of the salt changes a row. */
export interface AuditEventRow {
  tenant: string
  id: string
  at: number
  issuer: string
  sub: string
  jti: string | null
  via: string
  action: string
  target: string
  outcome: string
  /** Owner of the run that the act belongs to; with `request_id`. */
  owner: string | null
  request_id: string | null
  config_version: string | null
  /** JSON. */
  data: string | null
  salt: string | null
  /** Null until the event is sealed, as the two hashes. */
  seq: number | null
  prev_hash: string | null
  hash: string | null
}

/** A signed position in the chain of a tenant. */
export interface AuditHeadRow {
  tenant: string
  seq: number
  /** `cut`: the last event that retention has removed. */
  kind: 'head' | 'cut'
  hash: string
  at: number
  /** The signing key. */
  kid: string
  jws: string
}

/** The end of the chain of a tenant. */
export interface AuditChainRow {
  tenant: string
  seq: number
  hash: string
  /** The signing key from which the key of `mac` is derived. */
  kid: string
  /** Code of authentication over tenant, `seq` and `hash`. */
  mac: string
  /** The last signed head. */
  signed_seq: number
  /** When the end is signed; null where `signed_seq` is the end. */
  sign_at: number | null
}

export interface DatasetRow {
  tenant: string
  id: string
  name: string
  description: string
  /** JSON. */
  scorers: string
  share: 'none' | 'scores'
  revision: number
  created_at: number
  updated_at: number
}

/** One form of an example: from `revision` of the dataset, until the revision in `until`. */
export interface ExampleRow {
  tenant: string
  dataset: string
  id: string
  revision: number
  until: number | null
  /** Key of the session that the example was made from; empty for an example that no session takes with it. */
  session: string
  name: string
  /** JSON. */
  tags: string
  /** JSON. */
  source: string | null
  /** JSON. */
  content: string
  created_at: number
}

export interface ExampleMediaRow {
  tenant: string
  dataset: string
  example: string
  /** SHA-256 of the bytes, in hex. */
  hash: string
  session: string
  media_type: string
  /** Base64. */
  data: string
}

export interface ExperimentRow {
  tenant: string
  id: string
  owner: string
  request_id: string
  body_hash: string
  /** JSON. */
  spec: string
  /** Encrypted JSON; empty behind the end. */
  configurations: string
  /** Processes in a row that have begun without a new result and were lost, and the number of results at the last begin. */
  losses: number
  done_before: number
  status: 'pending' | 'running' | 'completed' | 'cancelled' | 'failed'
  dataset: string
  config_hash: string | null
  verdict: 'passed' | 'failed' | 'none' | null
  /** JSON. */
  summary: string | null
  error: string | null
  created_at: number
  started_at: number | null
  ended_at: number | null
}

export interface ExperimentResultRow {
  tenant: string
  experiment: string
  variant: number
  example: string
  repetition: number
  session: string
  outcome: 'passed' | 'failed' | 'diverged' | 'error'
  /** JSON; the numbers of the result. */
  figures: string
  /** JSON. */
  content: string
  /** JSON. */
  trace: string
  created_at: number
}
