import type { Message } from '../../agent/messages.ts'
import type { Checkpoint, HistoryMessage, RunStore, StoredRun } from '../run-store.ts'
import { toTranscript } from '../window/transcript.ts'
import type { HeldRecord, TraceRecord } from './records.ts'
import { toSpanMessage } from './sent-messages.ts'
import type { SpanMessage } from './span.ts'

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
