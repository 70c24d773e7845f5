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
  /** Epoch milliseconds of the hour's start. */
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
