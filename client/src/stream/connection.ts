import { AgentCoreError, networkError } from '../error.ts'
import { EventParser, type ServerSentEvent } from './event-parser.ts'

/** A connection that carries server-sent events. */
export interface Connection {
  /** Sends the request of the stream; the signal ends the request. Throws `AgentCoreError` if the reply is no event stream. */
  open(send: (signal: AbortSignal) => Promise<Response>): Promise<Response>
  /** Yields the events of an open stream, and ends with the stream. Throws `AgentCoreError` if the connection breaks or is silent. */
  events(response: Response): AsyncGenerator<ServerSentEvent, void>
  /** Milliseconds since the reply arrived; 0 without a reply. */
  ageMs(): number
  /** Closes the connection. With `isComplete`, the stream may end first, so that another request can reuse the connection. */
  close(isComplete?: boolean): void
}

const endMs = 1000

/** Creates a connection that is closed when `outer` is aborted, and when no byte arrives for `silenceMs`. */
export function createConnection(outer: AbortSignal | undefined, silenceMs: number): Connection {
  const ending = new AbortController()
  const leave = () => ending.abort(outer?.reason)
  outer?.addEventListener('abort', leave, { once: true })
  if (outer?.aborted) leave()
  let openedAt: number | undefined
  let heardAt = Date.now()
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  let timer = setTimeout(checkSilence, silenceMs)

  function checkSilence(): void {
    const quietMs = Date.now() - heardAt
    if (quietMs < silenceMs) timer = setTimeout(checkSilence, silenceMs - quietMs)
    else ending.abort(networkError(`Nothing arrived for ${silenceMs / 1000} s.`))
  }

  async function open(send: (signal: AbortSignal) => Promise<Response>): Promise<Response> {
    const response = await send(ending.signal)
    openedAt = heardAt = Date.now()
    if (response.status !== 204) requireEvents(response)
    return response
  }

  async function* events(response: Response): AsyncGenerator<ServerSentEvent, void> {
    if (!response.body) return
    reader = response.body.getReader()
    const parser = new EventParser()
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        ending.signal.throwIfAborted()
        throw networkError('The connection broke.', cause)
      })
      if (done) return
      heardAt = Date.now()
      yield* parser.push(value)
    }
  }

  function close(isComplete = false): void {
    clearTimeout(timer)
    outer?.removeEventListener('abort', leave)
    if (!isComplete || !reader) return ending.abort()
    const cut = setTimeout(() => ending.abort(), endMs)
    void reader
      .read()
      .catch(() => undefined)
      .then(() => {
        clearTimeout(cut)
        ending.abort()
      })
  }

  return { open, events, close, ageMs: () => (openedAt === undefined ? 0 : Date.now() - openedAt) }
}

function requireEvents(response: Response): void {
  const type = response.headers.get('content-type') ?? 'no content type'
  if (type.startsWith('text/event-stream')) return
  const requestId = response.headers.get('request-id') ?? undefined
  const { status } = response
  throw new AgentCoreError(`The reply is no event stream, but has ${type}.`, { status, errorType: 'InvalidReply', requestId })
}
