import { setTimeout as sleep } from 'node:timers/promises'
import { createPace } from './pace.ts'

const newline = 10
const carriageReturn = 13

/**
 * A response whose body ends with an error where a message in it is longer than `maxBytes`: all of it, or one event of an event stream
 * (HTML standard, 9.2.6). Events come at the pace at which they are taken.
 */
export function boundResponse(response: BodyOf, maxBytes: number, onTooLong: (why: string) => void): Response {
  const { status, statusText } = response
  const headers = new Headers([...response.headers])
  const init = { status, statusText, headers }
  // A body in these is an error of the constructor.
  if (response.body === null || [204, 205, 304].includes(status)) return new Response(null, init)
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') ?? false
  const pieces = isStream ? eventsOf(response.body, maxBytes) : piecesOf(response.body, maxBytes)
  return new Response(ReadableStream.from(telling(pieces, onTooLong)), init)
}

/** A response of any `fetch`: Node's own and undici's differ for the compiler. */
export interface BodyOf {
  readonly status: number
  readonly statusText: string
  readonly headers: Iterable<[string, string]>
  readonly body: AsyncIterable<Uint8Array> | null
}

class TooLong extends Error {
  constructor(maxBytes: number) {
    super(`It sent a message of more than ${maxBytes / 1024 / 1024} MB.`)
    this.name = 'TooLong'
  }
}

async function* telling(pieces: AsyncGenerator<Uint8Array, void>, onTooLong: (why: string) => void): AsyncGenerator<Uint8Array, void> {
  try {
    yield* pieces
  } catch (error) {
    if (error instanceof TooLong) onTooLong(error.message)
    throw error
  }
}

async function* piecesOf(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array, void> {
  let size = 0
  for await (const piece of body) {
    size += piece.length
    if (size > maxBytes) throw new TooLong(maxBytes)
    yield piece
  }
}

/** An empty line ends an event; a line ends with LF, CR LF, or CR alone. */
async function* eventsOf(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array, void> {
  const pace = createPace()
  let eventBytes = 0
  let lineBytes = 0
  let isBehindReturn = false
  for await (const piece of body) {
    const nextEnd = lineEndsIn(piece)
    let from = 0
    let at = isBehindReturn && piece[0] === newline ? 1 : 0
    while (at < piece.length) {
      const end = nextEnd(at)
      const next = end === -1 ? piece.length : piece[end] === carriageReturn && piece[end + 1] === newline ? end + 2 : end + 1
      lineBytes += (end === -1 ? piece.length : end) - at
      eventBytes += next - at
      if (eventBytes > maxBytes) throw new TooLong(maxBytes)
      at = next
      if (end === -1) break
      if (lineBytes === 0) {
        yield piece.subarray(from, at)
        from = at
        const waitMs = pace.spend(eventBytes)
        if (waitMs > 0) await sleep(waitMs, undefined, { ref: false })
        eventBytes = 0
      }
      lineBytes = 0
    }
    if (from < piece.length) yield piece.subarray(from)
    if (piece.length > 0) isBehindReturn = piece[piece.length - 1] === carriageReturn
  }
}

/** Where a line ends at or behind a place; -1: not in this piece. Each byte is looked at twice, however many lines there are. */
function lineEndsIn(piece: Uint8Array): (at: number) => number {
  let feed = piece.indexOf(newline)
  let back = piece.indexOf(carriageReturn)
  return (at) => {
    if (feed !== -1 && feed < at) feed = piece.indexOf(newline, at)
    if (back !== -1 && back < at) back = piece.indexOf(carriageReturn, at)
    return feed === -1 || back === -1 ? Math.max(feed, back) : Math.min(feed, back)
  }
}
