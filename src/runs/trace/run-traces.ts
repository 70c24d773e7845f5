import { setImmediate as pause } from 'node:timers/promises'
import { ServiceError } from '../../errors.ts'
import type { ApprovalStore } from '../approvals/approval-store.ts'
import { fromCompact } from '../log/compact-log.ts'
import { type EventLog, logStart } from '../log/event-log.ts'
import { noRun } from '../ownership/locate.ts'
import type { ObservedRun } from '../ownership/remote/remote-runs.ts'
import type { Checkpoint, RunStore, StoredRun, HistoryMessage } from '../run-store.ts'
import { type RunKey, type LoggedEvent, isReadable } from '../run.ts'
import { runKeyText } from '../ownership/run-registry.ts'
import { toParts } from './parts.ts'
import type { ModelRecord, TraceRecord, HeldRecord } from './records.ts'
import { withOpenCall, type TraceSource, bound, limitFor, toSpan, type RunTraceView, type Span, type SpanMessage } from './span.ts'
import { modelId, stepsIn, textsOf, type LoggedStep } from './turn-parts.ts'
import type { Message } from '../../agent/messages.ts'
import { toMessages, toTranscript } from '../window/window.ts'

interface RunTraceDependencies extends SessionReader {
  store: Pick<RunStore, 'find' | 'checkpoints' | 'history'>
  approvals: Pick<ApprovalStore, 'ofRun'>
  /** The progress of a run that the process holds; undefined for all other runs. */
  progressOf(key: RunKey): Progress | undefined
  /** The copy of the log of a run that another process executes. */
  observed: ObservedRuns
}

type Progress = Pick<TraceSource, 'events' | 'records'>

/** The traces of runs, which work for live and for ended runs. */
export interface RunTraces {
  /** The trace of a run, with long values cut. Throws `not_found` for an unknown run, and `gone` for a removed run. */
  find(key: RunKey): Promise<RunTraceView>
  /** The trace with one span alone: values are whole, and a model call has its messages. Throws `not_found` for an unknown span. */
  findSpan(key: RunKey, spanId: string): Promise<RunTraceView>
}

/** Spans that are made before waiting requests get a turn. */
const batchSize = 500

export function createRunTraces(deps: RunTraceDependencies): RunTraces {
  const { store, approvals, observed, progressOf } = deps

  async function read(key: RunKey): Promise<TraceSource> {
    const run = await readRun(key)
    const progress = (run.endedAt === undefined ? progressOf(key) : undefined) ?? (await storedProgress(run))
    const isAsked = progress.events.some(({ type }) => type === 'interrupt')
    return { run, ...progress, approvals: isAsked ? await approvals.ofRun(key) : [] }
  }

  /** A run whose log has its end was stored as ended before. */
  async function readRun(key: RunKey): Promise<StoredRun> {
    const hasEnded = progressOf(key)?.events.at(-1)?.type === 'end'
    const run = await store.find(key)
    if (!run || !isReadable(run)) throw noRun(key)
    const isOutdated = run.endedAt === undefined && !hasEnded && progressOf(key)?.events.at(-1)?.type === 'end'
    return isOutdated ? readRun(key) : run
  }

  /** A run that is executed has its progress in checkpoints; its log is of an earlier end or interruption. */
  async function storedProgress(run: StoredRun): Promise<Progress> {
    const { log, endedAt, status } = run
    if (endedAt !== undefined || status === 'interrupted') return { events: fromCompact(log?.events ?? []), records: log?.trace ?? [] }
    const checkpoints = await store.checkpoints(run)
    const records = checkpoints.flatMap(({ trace = [] }: Checkpoint) => trace)
    const events = checkpoints.flatMap((checkpoint) => fromCompact(checkpoint.events))
    return status === 'running' ? withOpenCall(await observed.eventsOf(run, events), records, run) : { events, records }
  }

  async function find(key: RunKey): Promise<RunTraceView> {
    const source = await read(key)
    await pause()
    const parts = toParts(source)
    const limit = limitFor(parts.length)
    const spans: Span[] = []
    for (let start = 0; start < parts.length; start += batchSize) {
      await pause()
      for (const part of parts.slice(start, start + batchSize)) spans.push(toSpan(bound(part, limit)))
    }
    return { request_id: key.requestId, status: source.run.status, spans }
  }

  async function findSpan(key: RunKey, spanId: string): Promise<RunTraceView> {
    const source = await read(key)
    const part = toParts(source).find(({ id }) => id === spanId)
    if (!part) throw new ServiceError('not_found', `The run ${key.requestId} has no span ${spanId}.`)
    const record = source.records.find((other): other is ModelRecord => other.type === 'model' && modelId(other) === spanId)
    const span = toSpan(part)
    return {
      request_id: key.requestId,
      status: source.run.status,
      spans: [record ? { ...span, messages: await messagesOf(record, source) } : span],
    }
  }

  async function messagesOf(record: ModelRecord, { run, events, records }: TraceSource) {
    const steps = stepsIn(events)
    const task = record.callId === undefined ? undefined : steps.get(record.callId)?.start.input
    const checkpoints = run.endedAt === undefined || run.continuable ? await store.checkpoints(run) : []
    const stored = record.callId === undefined ? await messagesBefore(run, records, deps) : { before: [], transcript: [] }
    const transcript = checkpoints.length > 0 ? transcriptOf(checkpoints, record.callId) : stored.transcript
    const before = record.callId === undefined ? stored.before : [{ role: 'user' as const, content: taskOf(task) }]
    return toSentMessages({ record, records, events, steps, before, transcript })
  }

  return { find, findSpan }
}

function taskOf(input: unknown): string {
  const task = (input as { task?: unknown } | undefined)?.task
  return typeof task === 'string' ? task : ''
}

interface ObservedRuns {
  /** The events so far of a run that another process executes; at least the stored events. */
  eventsOf(run: StoredRun, storedEvents: readonly LoggedEvent[]): Promise<readonly LoggedEvent[]>
}

/** A viewer asks again every few seconds: the copy of the log is kept in between. */
const idleMs = 10_000
/** How long the first answer waits for the events of the other process. */
const firstWaitMs = 300

/** Copies the logs of remote runs while a reader looks at the traces. */
export function createObservedRuns(observe: (run: StoredRun) => ObservedRun): ObservedRuns {
  const copies = new Map<string, { copy: ObservedRun; idle: NodeJS.Timeout }>()

  function open(name: string, run: StoredRun): ObservedRun {
    const copy = observe(run)
    copies.set(name, { copy, idle: setTimeout(() => close(name), idleMs).unref() })
    return copy
  }

  function close(name: string): void {
    const entry = copies.get(name)
    copies.delete(name)
    clearTimeout(entry?.idle)
    entry?.copy.close()
  }

  async function eventsOf(run: StoredRun, storedEvents: readonly LoggedEvent[]): Promise<readonly LoggedEvent[]> {
    const name = runKeyText(run)
    const entry = copies.get(name)
    entry?.idle.refresh()
    const { log } = entry?.copy ?? open(name, run)
    if (!entry) await firstEvents(log)
    // The run has ended in the meantime: the next look at the store finds its end.
    if (log.ended) close(name)
    return log.ended || log.events.length < storedEvents.length ? storedEvents : log.events.slice()
  }

  return { eventsOf }
}

async function firstEvents(log: EventLog): Promise<void> {
  const reading = log.follow(logStart, AbortSignal.timeout(firstWaitMs))
  await reading.next()
  // A reader that stays would hold back the copy.
  await reading.return()
}

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
function toSentMessages({ record, records, events, steps, before, transcript }: SentOptions): SpanMessage[] {
  const turns = records.filter(
    (other): other is ModelRecord =>
      other.type === 'model' && other.callId === record.callId && other.n < record.n && other.usage !== undefined,
  )
  const stored = beforeReply(transcript, turns.length)
  const sent = stored ? withResults(stored, steps) : turns.flatMap((turn) => toTurnMessages(turn, events, steps))
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
function toTurnMessages(record: ModelRecord, events: readonly LoggedEvent[], steps: ReadonlyMap<string, LoggedStep>): SpanMessage[] {
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
/** Most messages of a session from the question of a run on that may be of the run: people may have sent messages to the run. */
const maxOwn = 64

/** What the session tells of the messages of a run. Earlier turns are left out for a run with data filters, which may have hidden them. */
async function messagesBefore(run: StoredRun, records: readonly TraceRecord[], deps: SessionReader): Promise<RunMessages> {
  const { tenant, session, messageIndex, requestId, request, log } = run
  const question = { role: 'user' as const, content: request?.messages.at(-1)?.content ?? log?.input ?? '' }
  if (session === undefined || messageIndex === undefined) return { before: [question], transcript: [] }
  const { window = 0 } = records.find((record): record is HeldRecord => record.type === 'held') ?? {}
  const from = Math.max(window, messageIndex - maxRead)
  const history = await deps.store.history(tenant, session, from, messageIndex + maxOwn - from)
  const own = history.filter(({ idx, data }) => idx > messageIndex && data?.requestId === requestId)
  const answer = own.find(({ role }) => role === 'ai')
  const isFiltered = (request?.filters.length ?? 0) > 0 || answer?.data?.hints !== undefined
  const shown = history.filter(({ idx }) => idx <= messageIndex && (!isFiltered || idx === messageIndex))
  return {
    before: toBefore(run, shown, question, deps),
    transcript: own.length > 1 ? own.flatMap((message) => toMessages(message)) : (answer?.data?.transcript ?? []),
  }
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
function transcriptOf(checkpoints: readonly Checkpoint[], callId: string | undefined): Message[] {
  if (callId === undefined) return checkpoints.flatMap(({ messages }) => messages)
  return checkpoints.flatMap(({ nested = [] }) => nested.flatMap((entry) => (entry.callId === callId ? [entry.message] : [])))
}
