import type { JsonValue, JsonObject } from '../../agent/messages.ts'
import type { RunStatus, LoggedEvent } from '../run.ts'
import type { DecisionKind, PendingCall } from '../../agent/approval.ts'
import type { StoredRun } from '../run-store.ts'
import type { TraceRecord, ModelRecord } from './records.ts'

/** Everything that a trace is derived from. */
export interface TraceSource {
  run: StoredRun
  events: readonly LoggedEvent[]
  records: readonly TraceRecord[]
  approvals: readonly DecidedCall[]
}

/** A tool call that waits, or has waited, for a decision; times are epoch milliseconds. */
export interface DecidedCall extends PendingCall {
  requestedAt: number
  expiresAt: number
  /** Absent while the call waits. `lapsed`: the run ended before a decision. */
  decision?: DecisionKind | 'lapsed'
  decidedAt?: number
  /** Owner (`<issuer> <sub>`) who decided. */
  decidedBy?: string
  reason?: string
  /** Arguments that the approver set in place of `input`. */
  newInput?: JsonObject
}

type SpanKind = 'run' | 'plan' | 'turn' | 'model' | 'tool' | 'sub_agent' | 'approval' | 'budget' | 'wait' | 'move' | 'message'

/** `waiting`: for the session, a decision or a reader. */
export type SpanStatus = 'waiting' | 'running' | 'success' | 'error' | 'timeout' | 'cancelled'

/** One part of a run: `started` and `ended` are epoch milliseconds, `ended` is undefined while the part lasts. */
export interface SpanPart {
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
type Attributes = Record<string, JsonValue | undefined>

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

export function toSpan({ id, parent, kind, name, status, started, ended, attributes }: SpanPart): Span {
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

/** Characters of all long attributes of a trace, and the least and the most of one of them. */
const maxTotal = 1_000_000

const [leastCharacters, mostCharacters] = [80, 4000]

/** Attributes whose values come from models, tools and callers, and may be long. */
const longAttributes = ['tool_input', 'output', 'log', 'reasoning', 'new_input', 'error', 'message']

/** Characters that each long attribute of a trace with this number of parts may have. */
export function limitFor(parts: number): number {
  return Math.max(leastCharacters, Math.min(mostCharacters, Math.floor(maxTotal / Math.max(1, parts))))
}

/** Cuts long attributes; `truncated` marks the span. A cut value is a text: the beginning of the text, or of the JSON. */
export function bound(part: SpanPart, limit: number): SpanPart {
  let attributes = part.attributes
  for (const name of longAttributes) {
    const value = attributes[name]
    const text = value === undefined ? undefined : textOver(value, limit)
    if (text !== undefined) attributes = { ...attributes, [name]: text.slice(0, limit).toWellFormed(), truncated: true }
  }
  return attributes === part.attributes ? part : { ...part, attributes }
}

/** The value as text where it is longer than the limit. */
function textOver(value: JsonValue, limit: number): string | undefined {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return undefined
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > limit ? text : undefined
}

/**
 * Adds the model call that a remote process is making: the record is stored only when the call has ended. The run's own agent asks the
 * model whenever no step of the agent is open.
 */
export function withOpenCall(
  events: readonly LoggedEvent[],
  records: TraceSource['records'],
  { startedAt, createdAt }: StoredRun,
): Pick<TraceSource, 'events' | 'records'> {
  const calls = records.filter((record): record is ModelRecord => record.type === 'model')
  const newest = calls.findLast(({ callId }) => callId === undefined)
  const ends = new Map(events.flatMap((event) => (event.type === 'step_end' ? [[event.step.id, event.step]] : [])))
  const isCalling = (newest?.calls ?? []).some((callId) => !ends.has(callId))
  if (isCalling) return { events, records }
  const endOf = (callId: string) => (ends.get(callId)?.startedAt ?? 0) + (ends.get(callId)?.durationMs ?? 0)
  const lastEnd = Math.max(newest?.endedAt ?? startedAt ?? createdAt, ...(newest?.calls ?? []).map(endOf))
  const from = events.findLastIndex(isOwnStep) + 1
  const n = Math.max(0, ...calls.map((call) => call.n)) + 1
  return { events, records: [...records, { type: 'model', n, from, startedAt: lastEnd }] }
}

/** False for the steps of the provider, which are inside of a model call. */
function isOwnStep(event: LoggedEvent): boolean {
  return (event.type === 'step_start' || event.type === 'step_end') && !event.step.isOfProvider
}
