import type { FastifyReply } from 'fastify'
import { toErrorBody } from '../errors.ts'
import type { OpenRun } from '../runs/ownership/live-runs.ts'
import type { EventLog } from '../runs/log/event-log.ts'
import { errorOf } from '../runs/log/outcome.ts'
import { sendFailure } from './error-reply.ts'
import type { Opening } from './open-chat.ts'
import { sendEvents, startInTime, type StreamStart } from './sse.ts'
import { toTexts, type ToChunk } from './stream-chunks.ts'

interface Reader {
  /** Number of the last event that the reader has. */
  after: number
  toChunk: ToChunk
}

/**
 * Sends a run's events as they come. A run that fails before its first event is an ordinary HTTP error, unless its stream had to begin before.
 * The run may have to wait for its session; the stream begins without it, but not before the id of the session is settled.
 */
export async function sendRun(reply: FastifyReply, { chat, settled }: Opening, { after, toChunk }: Reader): Promise<FastifyReply> {
  const start = startInTime(reply, settled)
  try {
    const { run, disconnected } = await chat
    const { log, goesOn } = run
    // A browser's EventSource asks again behind every end, until it is told that nothing more comes.
    if (hasAll(log, after) && !start.hasBegun) return await reply.code(204).send()
    await firstEvent(log, disconnected, start)
    const [first] = log.events
    const error = first?.type === 'end' ? errorOf(first) : undefined
    if (error && first?.type === 'end' && first.reason === 'error' && after === 0 && !start.hasBegun) return sendFailure(reply, error)
    // A reader that comes back to a silent run must see that the run is there.
    if (log.events.length <= after) start.beginSilent()
    else start.begin()
    const isStanding = goesOn !== undefined && after >= log.events.length
    await sendEvents(
      reply.raw,
      isStanding ? waitingTexts(goesOn, toChunk, after, disconnected) : toTexts(log, toChunk, after, disconnected),
      reply.server.streamKeepAliveMs,
    )
    return reply
  } catch (error) {
    if (!start.hasBegun) throw error
    await sendEvents(reply.raw, [toFailedChunk(error, after, toChunk)], reply.server.streamKeepAliveMs)
    return reply
  } finally {
    start.stop()
  }
}

/** Whether a run has ended, and the reader has its last event. */
function hasAll({ events }: EventLog, after: number): boolean {
  return after === events.length && events.at(-1)?.type === 'end'
}

function toFailedChunk(error: unknown, after: number, toChunk: ToChunk): string {
  return toChunk(after + 1, { type: 'end', reason: 'error', usage: [], thoughts: [], error: toErrorBody(error) }, true)
}

/** For who has all of a run that waits for approval: what comes when it goes on. */
async function* waitingTexts(
  goesOn: NonNullable<OpenRun['goesOn']>,
  toChunk: ToChunk,
  after: number,
  disconnected: AbortSignal,
): AsyncGenerator<string, void> {
  let log: EventLog
  try {
    log = (await goesOn(disconnected)).log
  } catch (error) {
    // Its session was deleted, or the service stops.
    return yield toFailedChunk(error, after, toChunk)
  }
  yield* toTexts(log, toChunk, after, disconnected)
}

/** Resolves when there is an event, or the stream has begun without one. */
async function firstEvent(log: EventLog, disconnected: AbortSignal, start: StreamStart): Promise<void> {
  if (log.events.length > 0 || start.hasBegun) return
  const enough = new AbortController()
  const stop = () => enough.abort()
  start.onSilent(stop)
  disconnected.addEventListener('abort', stop, { once: true })
  const reading = log.follow(0, enough.signal)
  await reading.next()
  await reading.return()
  disconnected.removeEventListener('abort', stop)
}
