import { StringDecoder } from 'node:string_decoder'
import { createParser, type EventSourceParser } from 'eventsource-parser'
import type { Dispatcher, Pool } from 'undici'
import { ModelError } from '../../agent/model.ts'
import type { Timeouts } from '../connections.ts'
import {
  maxErrorBytes,
  toConnectionError,
  toSilenceError,
  toStatusError,
  toStreamError,
  type Origin,
  type StatusResponse,
} from '../failures.ts'
import { Readable } from 'node:stream'

/** Receiver of the data of server-sent events. `accept` may throw a `ModelError`. */
export interface EventSink {
  accept(data: string): void
  /** Accepts the body of a server that answers without a stream. Returns false if the body is no answer. May throw a `ModelError`. */
  acceptWhole(body: string): boolean
  /** Characters that the reader has not taken yet. */
  readonly pendingSize: number
  /** True once part of the answer has arrived. */
  readonly hasBegun: boolean
}

/** Number of pending characters at which the socket is paused. */
const maxPending = 64 * 1024
/** Limit of an event, which may contain a complete tool call. */
const maxEvent = 8 * 1024 * 1024
/** Time that a server has to end its response after the last event, before the connection is closed. */
const drainMs = 1000

/**
 * A POST request whose response is a stream of server-sent events. All events of a socket read are passed to the sink before the delivery
 * passes them on. `failure` is set if the stream failed. A slow reader pauses the socket.
 */
export class EventStream implements Dispatcher.DispatchHandler {
  isOver = false
  failure: ModelError | undefined
  /** Told when there may be new events. */
  delivery: { pass(): void } | undefined

  private readonly origin: Origin
  private readonly timeouts: Timeouts
  private readonly sink: EventSink
  /** Absent before the first read that ends within a character. */
  private decoder: StringDecoder | undefined
  private readonly parser: EventSourceParser
  private controller: Dispatcher.DispatchController | undefined
  private timer: NodeJS.Timeout | undefined
  private isIdleTimer = false
  private isReaderGone = false
  /** Present if the response is no event stream. The body is a whole answer, or becomes the error message. */
  private errorResponse: StatusResponse | undefined

  constructor(origin: Origin, timeouts: Timeouts, sink: EventSink) {
    this.origin = origin
    this.timeouts = timeouts
    this.sink = sink
    this.parser = createParser({
      maxBufferSize: maxEvent,
      onEvent: (event) => sink.accept(event.data),
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') throw toStreamError(origin, 'a chunk is too long')
      },
    })
  }

  /** Sends the request. `headers` are alternating names and values. */
  open(pool: Pool, path: string, headers: string[], text: string): void {
    this.timer = setTimeout(this.onSilence, this.timeouts.firstTokenMs)
    const { body, headers: ofBody } = toWireBody(text)
    pool.dispatch({ method: 'POST', path, headers: ofBody ? [...headers, ...ofBody] : headers, body }, this)
  }

  /** Called when the reader has taken all events: resumes a paused socket, which may deliver data at once. */
  resume(): void {
    if (!this.controller?.paused || this.isOver) return
    this.timer = setTimeout(this.onSilence, this.timeouts.idleMs)
    this.controller.resume()
  }

  /** Closes the connection, unless the response has ended. */
  leave(): void {
    this.isReaderGone = true
    clearTimeout(this.timer)
    if (this.isOver) return
    this.isOver = true
    this.controller?.abort(new Error('the reader has disconnected'))
    this.delivery?.pass()
  }

  /** Called after the last event: lets the response end, so that the connection can be reused. */
  drain(): void {
    if (this.isOver) return
    clearTimeout(this.timer)
    if (this.controller?.paused) this.controller.resume()
    this.timer = setTimeout(() => this.leave(), drainMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    // The reader left while the connection was being opened.
    if (this.isReaderGone) controller.abort(new Error('the reader has disconnected'))
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Record<string, string | string[] | undefined>): void {
    // A buffer for each name and value would be kept as long as the response lasts.
    controller.rawHeaders = null
    if (status < 200) return
    const isStream = status === 200 && !String(headers['content-type'] ?? '').startsWith('application/json')
    if (!isStream) this.errorResponse = { status, headers, body: '', now: Date.now() }
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.isOver) return
    const text = this.toText(bytes)
    if (this.errorResponse) {
      this.errorResponse.body += text
      const limit = this.errorResponse.status === 200 ? maxEvent : maxErrorBytes
      if (this.errorResponse.body.length > limit) this.fail(toStatusError(this.origin, this.errorResponse))
      return
    }
    this.parser.feed(text)
    if (this.isIdleTimer) this.timer?.refresh()
    else if (this.sink.hasBegun) {
      clearTimeout(this.timer)
      this.isIdleTimer = true
      this.timer = setTimeout(this.onSilence, this.timeouts.idleMs)
    }
    if (this.sink.pendingSize > maxPending) {
      controller.pause()
      // The idle timeout does not count while the socket is paused.
      clearTimeout(this.timer)
    }
    this.delivery?.pass()
  }

  private toText(bytes: Buffer): string {
    const endsWithCharacter = bytes[bytes.length - 1]! < 0x80
    if (!this.decoder && endsWithCharacter) return bytes.toString()
    return (this.decoder ??= new StringDecoder('utf8')).write(bytes)
  }

  onResponseEnd(): void {
    if (this.isOver) return
    if (this.errorResponse) this.failure = this.readWhole(this.errorResponse)
    this.settle()
  }

  onResponseError(_: unknown, error: Error): void {
    if (this.isOver) return
    const answer = this.errorResponse
    if (error instanceof ModelError) this.failure = error
    else this.failure = answer ? toStatusError(this.origin, answer) : toConnectionError(this.origin, error, this.sink.hasBegun)
    this.settle()
  }

  /** Reads a response without a stream. Returns the failure; undefined if the response is a whole answer. */
  private readWhole(response: StatusResponse): ModelError | undefined {
    try {
      if (response.status === 200 && this.sink.acceptWhole(response.body)) return undefined
    } catch (error) {
      if (error instanceof ModelError) return error
      throw error
    }
    return toStatusError(this.origin, response)
  }

  private readonly onSilence = (): void => this.fail(toSilenceError(this.origin, this.timeouts, this.isIdleTimer))

  private fail(error: ModelError): void {
    this.failure = error
    this.settle()
    this.controller?.abort(error)
    this.isReaderGone = true
  }

  private settle(): void {
    this.isOver = true
    clearTimeout(this.timer)
    this.delivery?.pass()
  }
}

/** A smaller body is not worth a stream. */
const minStreamedBytes = 16 * 1024

export interface WireBody {
  body: string | Readable
  /** Alternating names and values; absent for a text. */
  headers?: readonly string[]
}

/**
 * The body of a request, and its headers. undici keeps a body as long as the response lasts, minutes for a streamed answer. A long prompt is
 * therefore sent as a stream, which lets its bytes go.
 */
export function toWireBody(text: string): WireBody {
  if (text.length < minStreamedBytes) return { body: text }
  let bytes: Buffer | null = Buffer.from(text)
  const headers = ['content-length', String(bytes.length)]
  const body = new Readable({
    read() {
      this.push(bytes)
      if (bytes) this.push(null)
      bytes = null
    },
  })
  return { body, headers }
}
