import type { JsonValue } from '../../agent/messages.ts'
import type { RunStatus } from '../run.ts'

type SpanKind = 'run' | 'plan' | 'turn' | 'model' | 'tool' | 'sub_agent' | 'approval' | 'wait' | 'move'

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

/** Characters of all long attributes of a trace, and the least and the most of one of them. */
const maxTotal = 1_000_000
const [leastCharacters, mostCharacters] = [80, 4000]

/** Attributes whose values come from models, tools and callers, and may be long. */
const longAttributes = ['tool_input', 'output', 'log', 'reasoning', 'new_input', 'error']

/** Characters that each long attribute of a trace with this number of parts may have. */
export function limitFor(parts: number): number {
  return Math.max(leastCharacters, Math.min(mostCharacters, Math.floor(maxTotal / Math.max(1, parts))))
}

/** Cuts long attributes; `truncated` marks the span. A cut value is a text: the beginning of the text, or of the JSON. */
export function bound(part: Part, limit: number): Part {
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
