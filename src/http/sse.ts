import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

declare module 'fastify' {
  interface FastifyInstance {
    /** Milliseconds of silence after which a stream has a comment. */
    streamKeepAliveMs: number
  }
}

/** Proxies give up a response of which they hear nothing for some longer time. */
export const defaultKeepAliveMs = 15_000
const keepAlive = ': keep-alive\n\n'
/** A reader that takes nothing for this long is cut off. */
const stuckMs = 60_000

export const sseHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
}

/** The beginning of a stream: until then a failure is an ordinary HTTP error, behind it an event. */
export interface StreamStart {
  readonly hasBegun: boolean
  /** Sends the headers with the first event. */
  begin(): void
  /** Sends the headers now, with a comment, since no event is there yet. */
  beginSilent(): void
  /** Calls back when the stream begins without an event. */
  onSilent(call: () => void): void
  /** The stream has begun, or never will. */
  stop(): void
}

/** A stream that begins with its first event, and 15 s after its request at the latest, if its headers are `settled` by then. */
export function startInTime(reply: FastifyReply, settled: Promise<void> = Promise.resolve()): StreamStart {
  let hasBegun = false
  let isStopped = false
  let call = (): void => undefined
  const silentMs = Math.max(0, reply.server.streamKeepAliveMs - reply.elapsedTime)
  const timer = setTimeout(() => void settled.then(() => isStopped || beginSilent()), silentMs)

  function begin(): void {
    clearTimeout(timer)
    if (hasBegun) return
    hasBegun = true
    reply.hijack()
    reply.raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...sseHeaders })
  }

  function beginSilent(): void {
    if (hasBegun) return
    begin()
    reply.raw.write(keepAlive)
    call()
  }

  return {
    get hasBegun() {
      return hasBegun
    },
    begin,
    beginSilent,
    onSilent(listener) {
      call = listener
    },
    stop() {
      clearTimeout(timer)
      isStopped = true
    },
  }
}

/**
 * Writes server-sent events as they come and ends the response. No more is asked for while the socket is full, so that nothing is kept
 * here for a slow reader; one that takes nothing at all is cut off.
 */
export async function sendEvents(
  response: ServerResponse,
  texts: AsyncIterable<string> | Iterable<string>,
  keepAliveMs: number = defaultKeepAliveMs,
): Promise<void> {
  const timer = setInterval(() => {
    if (!response.writableNeedDrain) response.write(keepAlive)
  }, keepAliveMs)
  try {
    for await (const text of texts) {
      timer.refresh()
      if (!response.write(text)) await drained(response)
    }
    response.end()
  } catch {
    response.destroy()
  } finally {
    clearInterval(timer)
  }
}

/** Rejects when the reader has gone, or takes nothing for too long. */
async function drained(response: ServerResponse): Promise<void> {
  const waiting = new AbortController()
  const giveUp = () => waiting.abort()
  const timer = setTimeout(giveUp, stuckMs)
  response.once('close', giveUp)
  if (response.destroyed) giveUp()
  try {
    await once(response, 'drain', { signal: waiting.signal })
  } finally {
    clearTimeout(timer)
    response.off('close', giveUp)
  }
}
