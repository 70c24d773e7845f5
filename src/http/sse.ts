import { once } from 'node:events'
import type { ServerResponse } from 'node:http'

const keepAliveMs = 15_000
/** A reader that takes nothing for this long is cut off. */
const stuckMs = 60_000

export const sseHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
}

/**
 * Writes server-sent events as they come and ends the response. No more is asked for while the socket is full, so that nothing is kept
 * here for a slow reader; one that takes nothing at all is cut off.
 */
export async function sendEvents(response: ServerResponse, texts: AsyncIterable<string>): Promise<void> {
  const keepAlive = setInterval(() => {
    if (!response.writableNeedDrain) response.write(': keep-alive\n\n')
  }, keepAliveMs)
  try {
    for await (const text of texts) {
      keepAlive.refresh()
      if (!response.write(text)) await drained(response)
    }
    response.end()
  } catch {
    response.destroy()
  } finally {
    clearInterval(keepAlive)
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
