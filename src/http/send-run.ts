import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { invalid } from '../errors.ts'
import type { OpenRun } from '../runs/open-run.ts'
import { lastReceived, type RunPart } from '../runs/parts.ts'
import { type EventLog, isLastEvent, type LogPosition, type LogReader, logStart } from '../runs/log/event-log.ts'
import { errorOf, isReadFailure, toFailedEnd } from '../runs/log/outcome.ts'
import { setRequestId } from './server/request-headers.ts'
import { sendFailure } from './server/error-reply.ts'
import type { Opening, ToReaderFiles } from './reader.ts'
import { EventResponse, sendEvents, startInTime, type StreamStart } from './server/sse.ts'
import type { ProgressEvent } from '../agent/events.ts'
import type { AnswerFile } from '../artifacts/answer-files.ts'
import type { EndEvent, LastEvent, LoggedEvent } from '../runs/run.ts'

interface RunReader extends LastReceived {
  /** Begins the stream of a run. `hasSchema`: see `OpenRun`. */
  render(hasSchema: boolean): RunStream
  /** True for protocols whose clients read the failure of a run from the stream alone. */
  failsInStream?: boolean
}

/**
 * Sends the events of a run as server-sent events. A run that fails before its first event is an ordinary HTTP error, unless the stream has begun.
 * While a run waits for its session, the stream begins with a keep-alive comment, but not before the `session-id` header is final (`settled`).
 */
export async function sendRun(
  reply: FastifyReply,
  { chat, settled }: Opening,
  { after, mark, render, failsInStream = false }: RunReader,
): Promise<FastifyReply> {
  const start = startInTime(reply, settled)
  let stream: RunStream | undefined
  try {
    const { run, disconnected, toFiles } = await chat
    const { log, whenResumed } = run
    stream = render(run.hasSchema)
    const { opening } = stream
    if (opening !== '') {
      start.begin()
      reply.raw.write(opening)
    }
    let position = positionIn(log, { after, mark })
    // The events of a lost attempt may be as many as those of the log.
    const isOfLog = log.startOf(position) === after
    // A browser's EventSource reconnects after every end; only a 204 stops the reconnecting.
    if (isOfLog && hasCompleteLog(log, after) && !start.hasBegun) return await reply.code(204).send()
    await firstEvent(log, disconnected, start)
    // The log may have been empty. The mark of a failure does not count any more: a run that goes on may fail again with the same number.
    if (mark === 'last') position = positionIn(log, { after, mark })
    const first = log.events.at(0) ?? log.fault
    const error = first?.type === 'end' ? errorOf(first) : undefined
    const hasFailed = first?.type === 'end' && first.error !== undefined && after === 0
    if (error && hasFailed && !failsInStream && !start.hasBegun) return sendFailure(reply, error)
    // A client that reconnects to a silent run gets the headers at once.
    if (isOfLog && log.events.length <= after) start.beginSilent()
    else start.begin()
    const reader = { stream, position, disconnected, toFiles }
    const isInterrupted = whenResumed !== undefined && isOfLog && after >= log.events.length
    // Node keeps the request as long as the stream is open. Nothing reads its headers any more.
    Object.assign(reply.request.raw, { headers: {}, rawHeaders: [] })
    const out = new EventResponse(reply.raw, reply.server.streamKeepAliveMs)
    if (isInterrupted) void sendResumed(whenResumed, reader, out)
    else void sendLog(log, reader, out)
    // Nothing waits for the end of the stream: this frame and the frames of the callers would take 2 KB for each open stream.
    return reply
  } catch (error) {
    if (!start.hasBegun) throw error
    await sendEvents(reply.raw, [toFailedText(error, after, stream ?? render(false))], reply.server.streamKeepAliveMs)
    return reply
  } finally {
    start.stop()
  }
}

/** Sends a failure before the first event as a stream with one event, for protocols with `failsInStream`. */
export async function sendFailedStream(reply: FastifyReply, error: unknown, stream: RunStream): Promise<FastifyReply> {
  startInTime(reply).begin()
  await sendEvents(reply.raw, [toFailedText(error, 0, stream)], reply.server.streamKeepAliveMs)
  return reply
}

/** What a client has of the log of its run. */
export function positionIn({ events }: EventLog, { after, mark }: LastReceived): LogPosition {
  return { after, isValid: mark === 'own' || (mark !== undefined && mark === markOf(events.at(after - 1))) }
}

/** Whether the run has ended and the client has received its last event. */
function hasCompleteLog({ events }: EventLog, after: number): boolean {
  return after === events.length && events.at(-1)?.type === 'end'
}

/** The failure of a run that could not be opened, for a client that has received the events up to number `after`. */
function toFailedText(error: unknown, after: number, stream: RunStream): string {
  const end = toFailedEnd(error)
  return isReadFailure(error) ? stream.fault(end, after) : stream.last(end, after + 1, [])
}

/** Waits until an interrupted run resumes, then sends its events. The client has received all events up to the interruption. */
async function sendResumed(whenResumed: NonNullable<OpenRun['whenResumed']>, reader: StreamReader, out: EventResponse): Promise<void> {
  const { stream, position, disconnected } = reader
  try {
    const { log } = await whenResumed(disconnected)
    await sendLog(log, reader, out)
  } catch (error) {
    // The session was deleted, or the service is stopping.
    out.end(toFailedText(error, position.after, stream))
  }
}

/** Resolves when the run has an event, or the stream has begun without an event. */
async function firstEvent(log: EventLog, disconnected: AbortSignal, start: StreamStart): Promise<void> {
  if (log.events.length > 0 || start.hasBegun) return
  const waiting = new AbortController()
  const stop = () => waiting.abort()
  start.onSilent(stop)
  disconnected.addEventListener('abort', stop, { once: true })
  const events = log.follow(logStart, waiting.signal)
  await events.next()
  await events.return()
  disconnected.removeEventListener('abort', stop)
}

/** The header by which a reader of server-sent events says what it has. */
export const lastEventHeader = { 'last-event-id': Type.Optional(Type.String()) }

/** What a client has received of a stream. */
export interface LastReceived {
  /** Number of the last event; 0 for none. */
  after: number
  /** Tells the event from an event of a lost attempt with the same number. `own`: the number is of the service itself. Undefined: nothing does. */
  mark: Mark | 'own' | undefined
}

/** What the client of a part of a run has received before. */
export function receivedBefore(part: RunPart): LastReceived {
  return { after: lastReceived(part), mark: 'own' }
}

/** Of a client without events. */
export const nothingReceived: LastReceived = { after: 0, mark: 'own' }

/** `failed`: an end after which a repeat of the request continues the run. */
type Mark = 'last' | 'failed'

function markOf(event: LoggedEvent | undefined): Mark | undefined {
  if (!isLastEvent(event)) return undefined
  return event.type === 'end' && (event.error || event.reason === 'cancelled') ? 'failed' : 'last'
}

/** Parses `last-event-id`, `<request id>:<number>`. An empty or absent header means that the stream begins at the start. */
export function lastReceivedOf({ headers: { 'last-event-id': id } }: FastifyRequest, requestId: string): LastReceived {
  if (id === undefined || id === '') return nothingReceived
  const number = String(id).startsWith(`${requestId}:`) ? String(id).slice(requestId.length + 1) : ''
  if (!/^\d{1,9}$/.test(number)) throw invalid(['header', 'last-event-id'], `must be ${requestId}:<number>`)
  const zeros = /^0*/.exec(number)![0].length
  return { after: Number(number), mark: zeros === 1 ? 'last' : zeros === 2 ? 'failed' : undefined }
}

/**
 * The number of the last event of a log, as the text of its id. After the loss of a process, zeros in front tell this event from an event of the
 * lost attempt with the same number: one, or two for an end after which the run may go on.
 */
function lastNumber(number: number, event: LastEvent, { restoredAt }: EventLog): string {
  if (restoredAt === undefined) return String(number)
  return `${markOf(event) === 'failed' ? '00' : '0'}${number}`
}

/**
 * Names a request that is repeated after its stream was cut, by the run of `last-event-id`. Clients repeat a POST by themselves; without the name, the
 * repeat would be a second run. The header `request-id` wins.
 */
export function nameRepeatedRequest(request: FastifyRequest, reply: FastifyReply): void {
  const { 'last-event-id': id, 'request-id': requestId } = request.headers
  const [, runId] = /^(.+):\d{1,9}$/.exec(String(id ?? '').slice(0, 200)) ?? []
  if (runId === undefined || requestId !== undefined) return
  setRequestId(request, reply, runId)
  if (request.id === runId) request.headers['request-id'] = runId
}

/** The events of one run as the objects of a protocol. A projection has a state, so each reader has a projection of its own. */
export interface Projection<T> {
  /** Objects that are sent at once, before the first event; default: none. */
  opening?: readonly T[]
  /** Takes an event that is not the last one. After an `interrupt`, the run has resumed. `number`: of the event, from 1. */
  take(event: LoggedEvent, number: number): readonly T[]
  /** Takes the last event. `files`: the files of the run. `id`: the number as `lastNumber` writes it. */
  last(event: LastEvent, number: number, files: readonly AnswerFile[], id?: string): readonly T[]
  /** Takes a failure that is no event of the run. Default: `last`, with the number of the last event that the reader has received. */
  fault?(fault: EndEvent): readonly T[]
  /** Takes the progress of a call. `received`: number of the last event that the reader has received. Absent: the protocol has no place for progress. */
  progress?(event: ProgressEvent, received: number): readonly T[]
}

/** A projection as the text of server-sent events. */
export interface RunStream {
  opening: string
  take(event: LoggedEvent, number: number): string
  last(event: LastEvent, number: number, files: readonly AnswerFile[], id?: string): string
  /** `received`: number of the last event that the reader has received. */
  fault(fault: EndEvent, received: number): string
  /** Empty where the protocol has no place for progress. */
  progress(event: ProgressEvent, received: number): string
}

/** `frame` writes one object as a server-sent event. Every token takes this path, so a frame has the constant parts as prebuilt text. */
export function toStream<T>(projection: Projection<T>, frame: (object: T) => string): RunStream {
  return new TextStream(projection, frame)
}

class TextStream<T> implements RunStream {
  readonly opening: string
  private readonly projection: Projection<T>
  private readonly frame: (object: T) => string

  constructor(projection: Projection<T>, frame: (object: T) => string) {
    this.projection = projection
    this.frame = frame
    this.opening = this.toText(projection.opening)
  }

  take(event: LoggedEvent, number: number): string {
    return this.toText(this.projection.take(event, number))
  }

  last(...event: Parameters<RunStream['last']>): string {
    return this.toText(this.projection.last(...event))
  }

  /** The reader resumes after `received`, so the failure must not use the number of an event that is still to come. */
  fault(fault: EndEvent, received: number): string {
    const { projection } = this
    return this.toText(projection.fault ? projection.fault(fault) : projection.last(fault, received, []))
  }

  progress(event: ProgressEvent, received: number): string {
    return this.toText(this.projection.progress?.(event, received))
  }

  private toText(objects: readonly T[] = []): string {
    let text = ''
    for (const object of objects) text += this.frame(object)
    return text
  }
}

/** The frame of protocols whose events have data alone. */
export function toData(object: unknown): string {
  return `data: ${JSON.stringify(object)}\n\n`
}

/** The last text of protocols that end a stream by a word. */
export const doneText = 'data: [DONE]\n\n'

export interface StreamReader {
  stream: RunStream
  position: LogPosition
  disconnected: AbortSignal
  toFiles: ToReaderFiles
}

const maxTextLength = 65_536

/** Where the texts of a stream go. A promise of `write` is back-pressure. */
export interface TextSink {
  write(text: string): Promise<void> | undefined
  /** Ends the stream, with a last text. */
  end(text?: string): void
  destroy(): void
}

/**
 * Writes the events of a log as text, one text for each batch. A fault of the log is the last text. Resolves when the sink is ended, or destroyed
 * after a failure of the sink or the projection.
 */
export function sendLog(log: EventLog, reader: StreamReader, sink: TextSink): Promise<void> {
  return new Promise((resolve) => log.subscribe(reader.position, reader.disconnected, new LogSender(log, reader, sink, resolve)))
}

class LogSender implements LogReader {
  private readonly log: EventLog
  private readonly reader: StreamReader
  private readonly sink: TextSink
  private readonly onEnd: () => void
  /** Number of the last event that the reader has received. */
  private received: number
  private isDraining = false

  constructor(log: EventLog, reader: StreamReader, sink: TextSink, onEnd: () => void) {
    this.log = log
    this.reader = reader
    this.sink = sink
    this.onEnd = onEnd
    this.received = reader.position.after
  }

  batch(first: number, events: LoggedEvent[]): Promise<void> | undefined {
    this.received = first + events.length - 1
    const { text, next } = this.toText(first, events, 0)
    if (next < events.length) return this.writeRest(first, events, text, next)
    return text === '' ? undefined : this.sink.write(text)
  }

  /** A client that is slow to read misses progress. A failure here would end the process: the tool's report calls. */
  progress(event: ProgressEvent): void {
    const { reader, sink, received } = this
    if (this.isDraining) return
    try {
      const text = reader.stream.progress(event, received)
      const drained = text === '' ? undefined : sink.write(text)
      if (!drained) return
      this.isDraining = true
      drained.then(
        () => (this.isDraining = false),
        () => sink.destroy(),
      )
    } catch {
      sink.destroy()
    }
  }

  /** A failure here would end the process: the log calls from a timer. */
  end(failure?: unknown): void {
    const { log, reader, sink } = this
    try {
      if (failure !== undefined) sink.destroy()
      else sink.end(log.fault && reader.stream.fault(log.fault, this.received))
    } catch {
      sink.destroy()
    }
    this.onEnd()
  }

  /** The text of events from index `from`, up to the last event of the log or the limit of a text, and the index behind them. */
  private toText(first: number, events: readonly LoggedEvent[], from: number): { text: string; next: number } {
    const { stream } = this.reader
    let text = ''
    let next = from
    for (; next < events.length && text.length < maxTextLength; next++) {
      const event = events[next]!
      if (this.isLast(event, first + next)) break
      text += stream.take(event, first + next)
    }
    return { text, next }
  }

  private isLast(event: LoggedEvent, number: number): event is LastEvent {
    return isLastEvent(event) && number === this.log.events.length && this.log.isComplete
  }

  /** Writes the last event with its files. A client that joins late gets a long log in pieces, so that no socket buffers the whole log. */
  private async writeRest(first: number, events: readonly LoggedEvent[], begin: string, from: number): Promise<void> {
    const { stream, toFiles } = this.reader
    let text = begin
    let next = from
    for (;;) {
      const event = events[next]
      if (event && text.length < maxTextLength && this.isLast(event, first + next)) {
        const files = event.files ? await toFiles(event.files) : []
        text += stream.last(event, first + next, files, lastNumber(first + next, event, this.log))
        next++
      }
      if (text !== '') await this.sink.write(text)
      if (next >= events.length) return
      ;({ text, next } = this.toText(first, events, next))
    }
  }
}
