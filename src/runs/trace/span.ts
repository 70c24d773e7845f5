import type { JsonValue } from '../../agent/messages.ts'
import type { RunStatus } from '../run.ts'

export type SpanKind = 'run' | 'plan' | 'turn' | 'model' | 'tool' | 'sub_agent' | 'approval' | 'wait' | 'move'

/** `waiting`: for the session, a decision or a reader. */
export type SpanStatus = 'waiting' | 'running' | 'success' | 'error' | 'timeout' | 'cancelled'

/** One part of a run: `started` and `ended` are epoch milliseconds, `ended` is undefined while the part lasts. */
export interface Part {
  id: string
  /** Undefined for the run itself. */
  parent: string | undefined
  kind: SpanKind
  name: string
  status: SpanStatus
  started: number
  ended: number | undefined
  attributes: Attributes
}

/** Undefined values are left out of the answer. */
export type Attributes = Record<string, JsonValue | undefined>

/** A part of a run as shown to callers. */
export interface Span {
  id: string
  parent_id: string | null
  kind: SpanKind
  name: string
  status: SpanStatus
  started_at: string
  ended_at: string | null
  attributes: Attributes
  /** Present on a model call that was requested by its id: the messages that the model was sent. */
  messages?: SpanMessage[]
}

export interface SpanMessage {
  role: 'user' | 'assistant' | 'tool'
  content: string
  /** Calls that the model requested. */
  tool_calls?: { tool_call_id: string; tool: string; arguments: string }[]
  /** The call of a tool's result. */
  tool_call_id?: string
}

export interface RunTraceView {
  request_id: string
  status: RunStatus
  spans: Span[]
}

export const runSpanId = 'run'

export function toSpan({ id, parent, kind, name, status, started, ended, attributes }: Part): Span {
  return {
    id,
    parent_id: parent ?? null,
    kind,
    name,
    status,
    started_at: toIso(started),
    ended_at: ended === undefined ? null : toIso(ended),
    attributes,
  }
}

export function toIso(ms: number): string {
  return new Date(ms).toISOString()
}
