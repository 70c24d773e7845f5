import { setTimeout as sleep } from 'node:timers/promises'
import { createPace } from './pace.ts'

const newline = 10
const carriageReturn = 13

/**
 * Copies a response and limits its messages to `maxBytes`: the whole body, or each event of an event stream (HTML standard, 9.2.6). A
 * longer message fails the body with an error. Events are throttled by `createPace`.
 */
export function boundResponse(response: FetchResponse, maxBytes: number, onTooLong: (reason: string) => void): Response {
  const { status, statusText } = response
  const headers = new Headers([...response.headers])
  const init = { status, statusText, headers }
  // The `Response` constructor throws for a body with one of these status codes.
  if (response.body === null || [204, 205, 304].includes(status)) return new Response(null, init)
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') ?? false
  const split = isStream ? eventsOf : piecesOf
  return new Response(ReadableStream.from(readBody(response, (body) => split(body, maxBytes), onTooLong)), init)
}

/** A response of any `fetch`: the types of Node's own fetch and of undici differ. */
export interface FetchResponse {
  readonly status: number
  readonly statusText: string
  readonly headers: Iterable<[string, string]>
  readonly body: AsyncIterable<Uint8Array> | null
}

class MessageTooLong extends Error {
  constructor(maxBytes: number) {
    super(`The server sent a message of more than ${maxBytes / 1024 / 1024} MB.`)
    this.name = 'TooLong'
  }
}

/** Holds the response until its body is read: `fetch` cancels the unread body of a response that is garbage collected. */
async function* readBody(
  response: FetchResponse,
  split: (body: AsyncIterable<Uint8Array>) => AsyncGenerator<Uint8Array, void>,
  onTooLong: (reason: string) => void,
): AsyncGenerator<Uint8Array, void> {
  try {
    if (response.body !== null) yield* split(response.body)
  } catch (error) {
    if (error instanceof MessageTooLong) onTooLong(error.message)
    throw error
  }
}

async function* piecesOf(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array, void> {
  let size = 0
  for await (const piece of body) {
    size += piece.length
    if (size > maxBytes) throw new MessageTooLong(maxBytes)
    yield piece
  }
}

/** Splits an event stream into events. An empty line ends an event; a line ends with LF, CR LF or CR. */
async function* eventsOf(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array, void> {
  const pace = createPace()
  let eventBytes = 0
  let lineBytes = 0
  let followsReturn = false
  for await (const piece of body) {
    const nextEnd = lineEndsIn(piece)
    let start = 0
    let position = followsReturn && piece[0] === newline ? 1 : 0
    while (position < piece.length) {
      const end = nextEnd(position)
      const next = end === -1 ? piece.length : piece[end] === carriageReturn && piece[end + 1] === newline ? end + 2 : end + 1
      lineBytes += (end === -1 ? piece.length : end) - position
      eventBytes += next - position
      if (eventBytes > maxBytes) throw new MessageTooLong(maxBytes)
      position = next
      if (end === -1) break
      if (lineBytes === 0) {
        yield piece.subarray(start, position)
        start = position
        const waitMs = pace.spend(eventBytes)
        if (waitMs > 0) await sleep(waitMs, undefined, { ref: false })
        eventBytes = 0
      }
      lineBytes = 0
    }
    if (start < piece.length) yield piece.subarray(start)
    if (piece.length > 0) followsReturn = piece[piece.length - 1] === carriageReturn
  }
}

/** Finds the first line end at or after a position, or -1. Each byte is scanned at most twice, for any number of lines. */
function lineEndsIn(piece: Uint8Array): (at: number) => number {
  let feed = piece.indexOf(newline)
  let back = piece.indexOf(carriageReturn)
  return (at) => {
    if (feed !== -1 && feed < at) feed = piece.indexOf(newline, at)
    if (back !== -1 && back < at) back = piece.indexOf(carriageReturn, at)
    return feed === -1 || back === -1 ? Math.max(feed, back) : Math.min(feed, back)
  }
}
