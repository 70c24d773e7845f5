import type { Generated } from 'kysely'

/** The tables, equal on SQLite and Postgres: time is epoch milliseconds, structured values are JSON text. */
export interface Tables {
  sessions: SessionRow
  messages: MessageRow
  runs: RunRow
  run_steps: RunStepRow
  metrics: MetricsRow
  access_keys: AccessKeyRow
  processes: ProcessRow
  jobs: JobRow
  async_events: AsyncEventRow
  callbacks: CallbackRow
  media: MediaRow
  sub_agents: SubAgentRow
  memories: MemoryRow
  memory_sources: MemorySourceRow
  memory_owners: MemoryOwnerRow
  feedback: FeedbackRow
  approvals: ApprovalRow
  run_tails: RunTailRow
  configurations: ConfigurationRow
  configuration_texts: ConfigurationTextRow
  secrets: SecretRow
}

/** `owner` everywhere is `<issuer> <sub>`: whose things they are inside of the tenant. */
export interface SessionRow {
  tenant: string
  owner: string
  session_id: string
  /** Ours and never reused: what belongs to a session refers to this, so that a late write to a deleted one finds nothing. */
  key: string
  short_name: string
  checkpoint_id: string
  /** The one run that may write to the session now. */
  active_run: string | null
  message_count: number
  /** Index of the first message that the model is shown. */
  window_start: number
  /** JSON; what the turns before the window were about. */
  summary: string | null
  created_at: number
  updated_at: number
}

export interface MessageRow {
  tenant: string
  session: string
  idx: number
  role: 'human' | 'ai'
  content: string
  created_at: number
  /** JSON; what an ai message carries beside its text. */
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
  /** JSON of what is needed to go on elsewhere; removed when the run has ended for good. */
  request: string | null
  /** `gone`: a mark, its session was deleted or it was too old; all but the ids, `created_at` and `gone_at` is empty. */
  status: string
  on_disconnect: string
  /** The process that runs it, and how often it was taken over: a write with an older fence changes nothing. */
  holder: string
  fence: number
  /** Order of arrival in the session's line. */
  place: number
  message_index: number | null
  agent: string
  model: string
  created_at: number
  started_at: number | null
  ended_at: number | null
  finish_reason: string | null
  /** 1: a repeat goes on from the last checkpoint. */
  continuable: number
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  latency_ms: number
  /** JSON, the Error shape. */
  error: string | null
  /** JSON, compact: the numbered events. */
  log: string | null
  /** How long it ran before it was interrupted; 0 where it never was. */
  ran_ms: number
  /** Of an async run that is or was to be worked on: its place among those of all callers, in turns. */
  work_rank: number | null
  /** Since when it is a mark. */
  gone_at: number | null
  /** JSON; how often it has lost its process in a row, null where it never has. */
  losses: string | null
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
  /** Epoch milliseconds of the hour's start, and which of its rows this is. */
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
  /** Ended runs of the hour that its logs have no more: their sessions were deleted, or they became old. */
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
}

export interface ProcessRow {
  id: string
  alive_until: number
}

/** Work that was promised; it is gone when it is done. On Postgres pg-boss keeps it, in tables of its own. */
export interface JobRow {
  id: string
  kind: string
  tenant: string
  /** JSON. */
  data: string
  /** Whoever begins it moves this on, so that nobody else does until it should have been done. */
  due_at: number
  /** Times that it was begun; also the fence of who has it. */
  attempts: number
  /** When it was to be done first, or again: it is given up when it has failed for a day since. */
  wanted_at: number
  /** The lowest go first. */
  rank: number
}

/** An event that was accepted. */
export interface AsyncEventRow {
  tenant: string
  owner: string
  /** SHA-256 of its source and id, which its caller chose: any text, of any length. */
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
  /** Times that somebody had it sent again, and attempts since. */
  round: number
  tries: number
  created_at: number
}

/** A picture of a human message. */
export interface MediaRow {
  tenant: string
  session: string
  request_id: string
  n: number
  media_type: string
  /** Base64. */
  data: string
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
  /** 1: its last run failed. */
  has_failed: number
  /** The process that had it at work last, and until when that holds unless it says so again. */
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
  /** Whose word it is: `user` or `tool`. */
  origin: string
  content: string
  created_at: number
  updated_at: number
  /** Base64 of 32-bit floats, and the model that they are of. */
  embedding_model: string | null
  embedding: string | null
}

/** Where a memory comes from; the session is named by its key, and by its id as its caller knows it. */
export interface MemorySourceRow {
  tenant: string
  memory: string
  session: string
  session_id: string
  message_index: number
  /** `retain <request id>` or `feedback <request id>`: what was taken from a run once is not taken again. */
  made_by: string
  created_at: number
}

/** Grows with every change of what is kept of a caller. */
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

/** Events of a run that readers on other replicas are to see. */
export interface RunTailRow {
  tenant: string
  owner: string
  request_id: string
  /** Of the process that wrote it. */
  fence: number
  /** Numbers of the events. */
  first: number
  last: number
  /** Events that were told before this process had the run, and where readers go back to who have more; null where nothing was lost. */
  restored: number
  restored_at: number | null
  /** JSON, compact. */
  events: string
}

/** A call that waits for approval, or was decided; kept as long as its session. */
export interface ApprovalRow {
  tenant: string
  owner: string
  request_id: string
  call_id: string
  /** Among the calls that were asked for with it, from 0. */
  place: number
  session_id: string
  tool: string
  /** JSON. */
  input: string
  by: 'caller' | 'role'
  requested_at: number
  expires_at: number
  /** `lapsed`: its run ended before anybody decided. */
  decision: 'approve' | 'reject' | 'lapsed' | null
  /** JSON; in place of `input`. */
  new_input: string | null
  reason: string | null
  /** An owner. */
  decided_by: string | null
  decided_at: number | null
  /** A process has begun the call. */
  started_at: number | null
}

/** One configuration after the other; the one with the highest number is in use. On SQLite there are none: the file is what counts. */
export interface ConfigurationRow {
  n: number
  version: string
  kind: 'seed' | 'put' | 'memory' | 'edit' | 'restore' | 'start'
  /** Wrapped by SECRET_KEY: the text, and what of it is in memory only. */
  content: string
  /** JSON array: paths of what changed. */
  diff: string
  /** JSON; who asked for it. */
  made_by: string | null
  made_at: number
}

/** Texts of files that were seen, by a keyed hash, each with the last configuration that it was a text of. */
export interface ConfigurationTextRow {
  id: string
  n: number
}

/** Of the whole service: what all its processes have in common. */
export interface SecretRow {
  name: string
  /** Wrapped by SECRET_KEY. */
  sealed: string
  changed_at: number
}

type TableWith<Columns> = { [Table in keyof Tables]: Tables[Table] extends Columns ? Table : never }[keyof Tables]
type Named<Fates, Fate> = { [Table in keyof Fates]: Fates[Table] extends Fate ? Table : never }[keyof Fates]

/** What becomes of the rows that belong to a run when the run becomes a mark; `async_events` go by their own age. */
const fatesWithRun = {
  run_steps: 'removed',
  callbacks: 'removed',
  feedback: 'removed',
  approvals: 'removed',
  run_tails: 'removed',
  async_events: 'kept',
} as const satisfies Record<Exclude<TableWith<{ owner: string; request_id: string }>, 'runs'>, 'removed' | 'kept'>

/** What becomes of the rows that belong to a session when the session is removed. */
const fatesWithSession = {
  messages: 'removed',
  media: 'removed',
  runs: 'marked',
  memory_sources: 'forgotten',
} as const satisfies Record<TableWith<{ session: string }> | 'runs', 'removed' | 'marked' | 'forgotten'>

export const removedWithRun = tablesOf(fatesWithRun, 'removed')
export const removedWithSession = tablesOf(fatesWithSession, 'removed')

function tablesOf<Fates extends Record<string, string>, Fate extends Fates[keyof Fates]>(fates: Fates, fate: Fate): Named<Fates, Fate>[] {
  return Object.keys(fates).filter((table) => fates[table] === fate) as Named<Fates, Fate>[]
}
