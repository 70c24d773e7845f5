import type { Message } from '../../agent/messages.ts'
import type { Checkpoint, HistoryMessage, RunStore, StoredRun } from '../run-store.ts'
import type { LoggedEvent } from '../run.ts'
import { toTranscript } from '../window/transcript.ts'
import type { ModelRecord, TraceRecord, HeldRecord } from './recorder.ts'
import type { SpanMessage } from './span.ts'
import { textsOf, type LoggedStep } from './turn-parts.ts'

interface SentOptions {
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

function toSpanMessage(message: Message): SpanMessage {
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

export interface SessionReader {
  store: Pick<RunStore, 'history'>
  /** Size of the window, in tokens. */
  historyTokens(): number
}

interface RunMessages {
  /** The window of the session, and the question. */
  before: SpanMessage[]
  /** The transcript behind the question as stored with the answer; empty where there is none. */
  transcript: readonly Message[]
}

/** Most messages of a session that a run reads. */
const maxRead = 320

/** What the session tells of the messages of a run. Earlier turns are left out for a run with data filters, which may have hidden them. */
export async function messagesBefore(run: StoredRun, records: readonly TraceRecord[], deps: SessionReader): Promise<RunMessages> {
  const { tenant, session, messageIndex, requestId, request, log } = run
  const question = { role: 'user' as const, content: request?.messages.at(-1)?.content ?? log?.input ?? '' }
  if (session === undefined || messageIndex === undefined) return { before: [question], transcript: [] }
  const { window = 0 } = records.find((record): record is HeldRecord => record.type === 'held') ?? {}
  const from = Math.max(window, messageIndex - maxRead)
  const history = await deps.store.history(tenant, session, from, messageIndex + 2 - from)
  const answer = history.find(({ idx, role, data }) => idx > messageIndex && role === 'ai' && data?.requestId === requestId)
  const isFiltered = (request?.filters.length ?? 0) > 0 || answer?.data?.hints !== undefined
  const shown = history.filter(({ idx }) => idx <= messageIndex && (!isFiltered || idx === messageIndex))
  return { before: toBefore(run, shown, question, deps), transcript: answer?.data?.transcript ?? [] }
}

function toBefore(
  { messageIndex = 0, requestId, request }: StoredRun,
  history: readonly HistoryMessage[],
  question: { role: 'user'; content: string },
  { historyTokens }: SessionReader,
): SpanMessage[] {
  const messages = request?.messages ?? [question]
  return toTranscript({ history, messageIndex, requestId, messages, tokens: historyTokens() }).messages.map(toSpanMessage)
}

/** The messages of an agent in the checkpoints of a run; without a call, of the run's own agent. */
export function transcriptOf(checkpoints: readonly Checkpoint[], callId: string | undefined): Message[] {
  if (callId === undefined) return checkpoints.flatMap(({ messages }) => messages)
  return checkpoints.flatMap(({ nested = [] }) => nested.flatMap((entry) => (entry.callId === callId ? [entry.message] : [])))
}
