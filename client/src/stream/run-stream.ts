import { networkError } from '../error.ts'
import { createAttempts, type RetryOptions } from '../retry.ts'
import { createPosition, isInterruption, isLast, toChunk, type Chunk } from './chunk.ts'
import { createConnection } from './connection.ts'

export interface StreamOptions extends RetryOptions {
  /** Closes the connection. The iteration throws the reason of the signal. */
  signal?: AbortSignal | undefined
  /** Milliseconds without a byte after which a new connection is made; default 45,000. The service sends a comment every 15 s. */
  silenceMs?: number | undefined
  /** Whether the stream goes on when calls that wait for approval are decided; default false: the stream ends with such a chunk. */
  throughApprovals?: boolean | undefined
}

/** The chunks of a run, each exactly once. Can be iterated once; leaving the loop closes the connection. */
export interface RunStream extends AsyncIterable<Chunk> {
  readonly requestId: string
  /** Undefined until the service has answered, unless the stream began with a chat. */
  readonly sessionId: string | undefined
  /** Number of the last chunk. Together with `requestId` the place where `runs.stream` can go on. */
  readonly number: number
  /** The text of the answer so far. */
  readonly output: string
}

/** Where a stream comes from. */
export interface StreamSource {
  requestId: string
  sessionId?: string | undefined
  /** Number of the last event that the reader has; 0 without one. */
  after: number
  /** Sends the chat that starts the run; absent for a run that exists. The same request id is sent again until the first event arrives. */
  start?: (signal: AbortSignal) => Promise<Response>
  /** Requests the events after a number. */
  resume: (after: number, signal: AbortSignal) => Promise<Response>
}

/** A connection of this age counts as progress, even without events: a run may wait for a person for hours. */
const stableMs = 10_000

export function createRunStream(source: StreamSource, options: StreamOptions): RunStream {
  const { signal, silenceMs = 45_000, throughApprovals = false } = options
  const position = createPosition(source.after)
  let { sessionId } = source
  let output = ''
  let hasStarted = source.start === undefined

  const open = async (connectionSignal: AbortSignal): Promise<Response> => {
    const isStart = source.start !== undefined && !hasStarted
    const response = await (isStart ? source.start!(connectionSignal) : source.resume(position.number, connectionSignal))
    sessionId = response.headers.get('session-id') ?? sessionId
    return response
  }

  function keep(chunk: Chunk): void {
    hasStarted = true
    output = chunk.agent_step === 'answer' ? output + chunk.token : ''
  }

  async function* read(): AsyncGenerator<Chunk, void> {
    const attempts = createAttempts(options, signal)
    for (;;) {
      const connection = createConnection(signal, silenceMs)
      let last: Chunk | undefined
      let failure: unknown
      try {
        const response = await connection.open(open)
        // The run has ended, and the reader has all of its events.
        if (response.status === 204) return
        for await (const event of connection.events(response)) {
          const chunk = toChunk(event)
          if (!position.accept(chunk)) continue
          attempts.succeed()
          keep(chunk)
          if (isLast(chunk)) last = chunk
          yield chunk
          if (last) break
        }
        failure = networkError('The stream ended before its last event.')
      } catch (error) {
        failure = error
      } finally {
        connection.close(last !== undefined)
      }
      if (last && !(throughApprovals && isInterruption(last))) return
      if (last) continue
      if (connection.ageMs() >= stableMs) attempts.succeed()
      await attempts.waitAfter(failure)
    }
  }

  const chunks = read()
  return {
    requestId: source.requestId,
    get sessionId() {
      return sessionId
    },
    get number() {
      return position.number
    },
    get output() {
      return output
    },
    [Symbol.asyncIterator]: () => chunks,
  }
}
