import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { invalid } from '../errors.ts'
import type { OpenRun } from '../runs/open-run.ts'
import type { EventLog } from '../runs/log/event-log.ts'
import { errorOf, isReadFailure, toFailedEnd } from '../runs/log/outcome.ts'
import { setRequestId } from './server/request-headers.ts'
import { sendFailure } from './server/error-reply.ts'
import type { Opening } from './reader.ts'
import { EventResponse, sendEvents, startInTime, type StreamStart } from './server/sse.ts'
import { sendLog, type RunStream, type StreamReader } from './projection.ts'

interface RunReader {
  /** Number of the last event that the client has received. 0: none. */
  after: number
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
  { after, render, failsInStream = false }: RunReader,
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
    // A browser's EventSource reconnects after every end; only a 204 stops the reconnecting.
    if (hasCompleteLog(log, after) && !start.hasBegun) return await reply.code(204).send()
    await firstEvent(log, disconnected, start)
    const first = log.events.at(0) ?? log.fault
    const error = first?.type === 'end' ? errorOf(first) : undefined
    const hasFailed = first?.type === 'end' && first.error !== undefined && after === 0
    if (error && hasFailed && !failsInStream && !start.hasBegun) return sendFailure(reply, error)
    // A client that reconnects to a silent run gets the headers at once.
    if (log.events.length <= after) start.beginSilent()
    else start.begin()
    const reader = { stream, after, disconnected, toFiles }
    const isInterrupted = whenResumed !== undefined && after >= log.events.length
    const out = new EventResponse(reply.raw, reply.server.streamKeepAliveMs)
    if (isInterrupted) await sendResumed(whenResumed, reader, out)
    else await sendLog(log, reader, out)
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
  const { stream, after, disconnected } = reader
  try {
    const { log } = await whenResumed(disconnected)
    await sendLog(log, reader, out)
  } catch (error) {
    // The session was deleted, or the service is stopping.
    out.end(toFailedText(error, after, stream))
  }
}

/** Resolves when the run has an event, or the stream has begun without an event. */
async function firstEvent(log: EventLog, disconnected: AbortSignal, start: StreamStart): Promise<void> {
  if (log.events.length > 0 || start.hasBegun) return
  const waiting = new AbortController()
  const stop = () => waiting.abort()
  start.onSilent(stop)
  disconnected.addEventListener('abort', stop, { once: true })
  const events = log.follow(0, waiting.signal)
  await events.next()
  await events.return()
  disconnected.removeEventListener('abort', stop)
}

/** The header by which a reader of server-sent events says what it has. */
export const lastEventHeader = { 'last-event-id': Type.Optional(Type.String()) }

/** Parses `last-event-id`, `<request id>:<number>`. 0 for an empty or absent header: the stream begins at the start. */
export function lastEventNumber({ headers: { 'last-event-id': id } }: FastifyRequest, requestId: string): number {
  if (id === undefined || id === '') return 0
  const number = String(id).startsWith(`${requestId}:`) ? String(id).slice(requestId.length + 1) : ''
  if (!/^\d{1,9}$/.test(number)) throw invalid(['header', 'last-event-id'], `must be ${requestId}:<number>`)
  return Number(number)
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
