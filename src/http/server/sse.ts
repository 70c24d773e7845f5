import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { serverTimingOf } from './server-timing.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Milliseconds of silence after which a stream sends a comment. */
    streamKeepAliveMs: number
  }
}

/** Proxies close responses that are silent for longer, often after 60 s. */
export const defaultKeepAliveMs = 15_000
const keepAlive = ': keep-alive\n\n'
/** Milliseconds without a `drain` after which a client is disconnected. */
export const stalledMs = 60_000

export const sseHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
}

/** The headers of a reply that becomes a stream, with the times that are known now. */
export function toStreamHeaders(reply: FastifyReply): Record<string, string> {
  const timing = serverTimingOf(reply)
  const remaining = reply.request.remaining?.()
  return {
    ...(reply.getHeaders() as Record<string, string>),
    ...(timing !== undefined && { 'server-timing': timing }),
    ...(remaining !== undefined && { 'x-budget-remaining': remaining }),
    ...sseHeaders,
  }
}

/** The start of a stream. Before the start a failure is an ordinary HTTP error, afterwards an event. */
export interface StreamStart {
  readonly hasBegun: boolean
  /** Starts the stream; the headers are sent with the first event. */
  begin(): void
  /** Starts the stream with a comment, so that the headers are sent before the first event. */
  beginSilent(): void
  /** Registers a listener for a start without an event. */
  onSilent(listener: () => void): void
  /** Stops the timer: the stream has begun, or never will. */
  stop(): void
}

/** A stream that begins with its first event, or `streamKeepAliveMs` after the request without an event. The headers must be `settled` first. */
export function startInTime(reply: FastifyReply, settled: Promise<void> = Promise.resolve()): StreamStart {
  let hasBegun = false
  let isStopped = false
  let notifySilent = (): void => undefined
  const silentMs = Math.max(0, reply.server.streamKeepAliveMs - reply.elapsedTime)
  const timer = setTimeout(() => void settled.then(() => isStopped || beginSilent()), silentMs)

  function begin(): void {
    clearTimeout(timer)
    if (hasBegun) return
    hasBegun = true
    reply.hijack()
    reply.raw.writeHead(200, toStreamHeaders(reply))
    // The empty write makes the header one string, which would else remain a tree of strings as long as the stream is open. The socket sends
    // the header with the first event all the same.
    reply.raw.write('')
  }

  function beginSilent(): void {
    if (hasBegun) return
    begin()
    reply.raw.write(keepAlive)
    notifySilent()
  }

  return {
    get hasBegun() {
      return hasBegun
    },
    begin,
    beginSilent,
    onSilent(listener) {
      notifySilent = listener
    },
    stop() {
      clearTimeout(timer)
      isStopped = true
    },
  }
}

/** A response of server-sent events that has begun. In silence the response gets a comment from time to time. */
export class EventResponse {
  private readonly response: ServerResponse
  private readonly timer: NodeJS.Timeout

  constructor(response: ServerResponse, keepAliveMs: number) {
    this.response = response
    this.timer = setInterval(() => {
      if (!response.writableNeedDrain) response.write(keepAlive)
    }, keepAliveMs)
  }

  /** Returns a promise while the socket is full. The promise rejects when the client disconnects or reads nothing for 60 s. */
  write(text: string): Promise<void> | undefined {
    this.timer.refresh()
    return this.response.write(text) ? undefined : waitForDrain(this.response)
  }

  /** Ends the response, with a last text. Nobody waits for a client that reads the last text slowly. */
  end(text = ''): void {
    clearInterval(this.timer)
    if (text === '') this.response.end()
    else this.response.end(text)
  }

  /** Closes the connection, so that the stream does not seem complete. */
  destroy(): void {
    clearInterval(this.timer)
    this.response.destroy()
  }
}

/**
 * Writes server-sent events as they come and ends the response. While the socket is full no further text is pulled, so nothing is buffered for a
 * slow client. A client that reads nothing for 60 s is disconnected. A source that throws destroys the response.
 */
export async function sendEvents(
  response: ServerResponse,
  texts: AsyncIterable<string> | Iterable<string>,
  keepAliveMs: number = defaultKeepAliveMs,
): Promise<void> {
  const stream = new EventResponse(response, keepAliveMs)
  try {
    for await (const text of texts) {
      const draining = stream.write(text)
      if (draining) await draining
    }
    stream.end()
  } catch {
    stream.destroy()
  }
}

/** Waits for `drain`. Rejects when the client disconnects or reads nothing for `stalledMs`. */
async function waitForDrain(response: ServerResponse): Promise<void> {
  const waiting = new AbortController()
  const giveUp = () => waiting.abort()
  const timer = setTimeout(giveUp, stalledMs)
  response.once('close', giveUp)
  if (response.destroyed) giveUp()
  try {
    await once(response, 'drain', { signal: waiting.signal })
  } finally {
    clearTimeout(timer)
    response.off('close', giveUp)
  }
}
