import type { Message } from '../../agent/messages.ts'
import type { LoggedEvent } from '../run.ts'
import { textsOf } from './model-parts.ts'
import type { ModelRecord, TraceRecord } from './records.ts'
import type { SpanMessage } from './span.ts'
import type { LoggedStep } from './step-parts.ts'

export interface SentOptions {
  record: ModelRecord
  records: readonly TraceRecord[]
  events: readonly LoggedEvent[]
  steps: ReadonlyMap<string, LoggedStep>
  /** Messages before the first call of the agent: earlier turns and the question, or the task of a sub-agent. */
  before: readonly SpanMessage[]
  /** What is stored of the agent's transcript behind `before`; empty where nothing is. */
  transcript: readonly Message[]
}

/**
 * The messages that a model call was sent, without the system prompt: from the stored transcript, or else from the logged texts and steps of
 * the earlier turns.
 */
export function toSentMessages({ record, records, events, steps, before, transcript }: SentOptions): SpanMessage[] {
  const turns = records.filter(
    (other): other is ModelRecord =>
      other.type === 'model' && other.callId === record.callId && other.n < record.n && other.usage !== undefined,
  )
  const stored = beforeReply(transcript, turns.length)
  const sent = stored ? withResults(stored, steps) : turns.flatMap((turn) => toMessages(turn, events, steps))
  return [...before, ...sent]
}

/** The messages before the reply with this index; undefined where replies before it are missing. */
function beforeReply(transcript: readonly Message[], index: number): Message[] | undefined {
  let replies = 0
  for (const [at, { role }] of transcript.entries()) {
    if (role !== 'assistant') continue
    if (replies === index) return transcript.slice(0, at)
    replies++
  }
  return replies === index && (index > 0 || transcript.length > 0) ? [...transcript] : undefined
}

/** Adds the results that are logged, but not stored with the transcript yet. */
function withResults(messages: readonly Message[], steps: ReadonlyMap<string, LoggedStep>): SpanMessage[] {
  const answered = new Set(messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : [])))
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? message.toolCalls : []))
  const results = calls.flatMap(({ id }) => (answered.has(id) ? [] : toResult(steps.get(id))))
  return [...messages.map(toSpanMessage), ...results]
}

export function toSpanMessage(message: Message): SpanMessage {
  const { role, text: content } = message
  if (role === 'tool') return { role, content, tool_call_id: message.callId }
  if (role === 'user' || message.toolCalls.length === 0) return { role, content }
  const toCall = ({ id, name, arguments: text }: (typeof message.toolCalls)[number]) => ({ tool_call_id: id, tool: name, arguments: text })
  return { role, content, tool_calls: message.toolCalls.map(toCall) }
}

/** A turn as the log shows it. */
function toMessages(record: ModelRecord, events: readonly LoggedEvent[], steps: ReadonlyMap<string, LoggedStep>): SpanMessage[] {
  const called = (record.calls ?? []).flatMap((id) => steps.get(id) ?? [])
  const toCall = ({ start }: LoggedStep) => ({ tool_call_id: start.id, tool: start.tool, arguments: JSON.stringify(start.input) })
  const reply: SpanMessage = { role: 'assistant', content: textsOf(record, events).output }
  return [called.length > 0 ? { ...reply, tool_calls: called.map(toCall) } : reply, ...called.flatMap(toResult)]
}

function toResult(step: LoggedStep | undefined): SpanMessage[] {
  if (!step?.end) return []
  const { id, output } = step.end
  return [{ role: 'tool', content: typeof output === 'string' ? output : JSON.stringify(output), tool_call_id: id }]
}
