import { setTimeout as sleep } from 'node:timers/promises'
import type { FetchLike } from '@modelcontextprotocol/client'
import type { Outbound } from '../builder.ts'
import type { RemoteServer } from './server.ts'

/** A `fetch` with limits for the size and, with `ms`, for the time of a response. */
type Send = (target: string | URL, init: RequestInit | undefined, limit: { bytes: number; ms?: number }) => Promise<Response>

interface SendOptions {
  outbound: Outbound
  onTooLong(reason: string): void
}

/** Sends requests of an MCP client. Addresses named only by the server must pass the outbound rules; configured origins need not. */
export function createSend({ url, oauth, login }: RemoteServer, { outbound, onTooLong }: SendOptions): Send {
  const configuredUrls = [url.href, oauth?.tokenUrl, login?.issuer].filter((address) => address !== undefined)
  const configured = new Set(configuredUrls.map((address) => new URL(address).origin))
  return async (target, init, limit) => {
    const address = new URL(target)
    const headers = Object.fromEntries(new Headers(init?.headers))
    const timeout = limit.ms === undefined ? [] : [AbortSignal.timeout(limit.ms)]
    const signal = AbortSignal.any([...(init?.signal ? [init.signal] : []), ...timeout])
    const { method = 'GET', body, redirect = 'follow' } = init ?? {}
    const text = typeof body === 'string' ? body : body instanceof URLSearchParams ? body.toString() : undefined
    const request = { method, headers, redirect, signal, ...(text !== undefined && { body: text }) }
    const fetch = configured.has(address.origin) ? outbound.fetchConfigured : outbound.fetch
    return boundResponse(await fetch(address.href, request), limit.bytes, onTooLong)
  }
}

/** Limits for a response of an authorization server. */
const oauthBytes = 1024 * 1024
export const oauthMs = 15_000

/** A `fetch` for requests to authorization servers and for metadata. */
export function createOAuthFetch(send: Send): FetchLike {
  return (target, init) => send(target, init, { bytes: oauthBytes, ms: oauthMs })
}

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
interface FetchResponse {
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

interface LineLimits {
  /** Maximum size of a line; a longer line rejects. */
  maxBytes: number
  pace: Pace
}

/** Yields the lines of a stream without line ends. Unread data stays with the writer (back-pressure). */
export async function* readLines(source: AsyncIterable<Buffer>, { maxBytes, pace }: LineLimits): AsyncGenerator<string, void> {
  let pieces: Buffer[] = []
  let size = 0
  for await (const chunk of source) {
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      pieces.push(chunk.subarray(start, end))
      const line = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
      start = end + 1
      pieces = []
      size = 0
      if (line.length > maxBytes) throw tooLong(maxBytes)
      yield line.toString().replace(/\r$/, '')
      const waitMs = pace.spend(line.length)
      if (waitMs > 0) await sleep(waitMs, undefined, { ref: false })
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start))
    size += chunk.length - start
    if (size > maxBytes) throw tooLong(maxBytes)
  }
}

function tooLong(maxBytes: number): Error {
  return new Error(`The server sent a message of more than ${maxBytes / 1024 / 1024} MB.`)
}

/** Capacity and refill rate of the bucket. */
const messages = { burst: 500, perSecond: 1000 }
const bytes = { burst: 64 * 1024 * 1024, perSecond: 16 * 1024 * 1024 }

/** Throttles reading from a server (token bucket): back-pressure holds a flood at the sender, and the service stays responsive. */
export function createPace(now: () => number = () => performance.now()) {
  let refilledAt = now()
  const budget = { messages: messages.burst, bytes: bytes.burst }

  function refill(): void {
    const seconds = (now() - refilledAt) / 1000
    refilledAt += seconds * 1000
    budget.messages = Math.min(messages.burst, budget.messages + seconds * messages.perSecond)
    budget.bytes = Math.min(bytes.burst, budget.bytes + seconds * bytes.perSecond)
  }

  return {
    /** Counts a message, and returns the milliseconds to wait before reading on, usually 0. */
    spend(size: number): number {
      budget.messages -= 1
      budget.bytes -= size
      if (budget.messages > 0 && budget.bytes > 0) return 0
      refill()
      const waitSeconds = Math.max(-budget.messages / messages.perSecond, -budget.bytes / bytes.perSecond)
      // The 50 ms make each pause long enough that a flood does not set a timer per message.
      return waitSeconds < 0 ? 0 : Math.ceil(waitSeconds * 1000) + 50
    },
  }
}

type Pace = ReturnType<typeof createPace>
