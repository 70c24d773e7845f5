import type { FastifyReply } from 'fastify'
import { toErrorBody } from '../errors.ts'
import type { OpenRun } from '../runs/live-runs.ts'
import type { EventLog } from '../runs/event-log.ts'
import { errorOf } from '../runs/outcome.ts'
import { sendFailure } from './error-reply.ts'
import { sendEvents, sseHeaders } from './sse.ts'
import { chunksOf, toTexts, type ToChunk } from './stream-chunks.ts'

/** A stream that has nothing to say for this long begins all the same, so that no proxy gives it up; its errors come as chunks then. */
const firstEventMs = 15_000

interface Reader {
  /** Number of the last event that the reader has. */
  after: number
  left: AbortSignal
  /** How an event is told; default: as our own chunk. */
  toChunk?: ToChunk
}

/** Sends a run's events as they come. A run that fails before its first event is an ordinary HTTP error. */
export async function sendRun(
  reply: FastifyReply,
  run: OpenRun,
  { after, left, toChunk = chunksOf(run.requestId) }: Reader,
): Promise<FastifyReply> {
  const { log, goesOn } = run
  await firstEvent(log, left)
  const [first] = log.events
  const error = first?.type === 'end' ? errorOf(first) : undefined
  if (error && first?.type === 'end' && first.reason === 'error' && after === 0) return sendFailure(reply, error)
  reply.hijack()
  reply.raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...sseHeaders })
  // Who comes back to a run that is silent must see that it is there; else the first event takes the headers along.
  if (log.events.length <= after) reply.raw.flushHeaders()
  const isStanding = goesOn !== undefined && after >= log.events.length
  await sendEvents(reply.raw, isStanding ? waitingTexts(goesOn, toChunk, after, left) : toTexts(log, toChunk, after, left))
  return reply
}

/** For who has all of a run that waits for approval: what comes when it goes on. */
async function* waitingTexts(
  goesOn: NonNullable<OpenRun['goesOn']>,
  toChunk: ToChunk,
  after: number,
  left: AbortSignal,
): AsyncGenerator<string, void> {
  let log: EventLog
  try {
    log = (await goesOn(left)).log
  } catch (error) {
    // Its session was deleted, or the service stops.
    const end = { type: 'end' as const, reason: 'error' as const, usage: [], thoughts: [], error: toErrorBody(error) }
    return yield toChunk(after + 1, end, true)
  }
  yield* toTexts(log, toChunk, after, left)
}

async function firstEvent(log: EventLog, left: AbortSignal): Promise<void> {
  if (log.events.length > 0) return
  const enough = new AbortController()
  const stop = () => enough.abort()
  const timer = setTimeout(stop, firstEventMs)
  left.addEventListener('abort', stop, { once: true })
  const reading = log.follow(0, enough.signal)
  await reading.next()
  await reading.return()
  clearTimeout(timer)
  left.removeEventListener('abort', stop)
}
