import { networkError } from '../error.ts'
import { createAttempts, type RetryOptions } from '../retry.ts'
import type { Schema } from '../operation.ts'
import { createPosition, isLast, readFailureOf, toChunk, toProgress, type Chunk, type StepProgress } from './chunk.ts'
import { createConnection } from './connection.ts'

export interface StreamOptions extends RetryOptions {
  /** Closes the connection. The iteration throws the reason of the signal. */
  signal?: AbortSignal | undefined
  /** Milliseconds without a byte after which a new connection is made; default 45,000. The service sends a comment every 15 s. */
  silenceMs?: number | undefined
  /** Continue the stream after approvals. Default false: the stream ends with the chunk that has `approval_required`. */
  throughApprovals?: boolean | undefined
  /** Called while a tool runs that reports its progress. Progress is no chunk: it is not part of the log, and may be missed. */
  onProgress?: ((progress: StepProgress) => void) | undefined
}

/** The chunks of a run, each exactly once. Can be iterated once; leaving the loop closes the connection. */
export interface RunStream extends AsyncIterable<Chunk> {
  readonly requestId: string
  /** Undefined before the first reply, if the session id was not chosen by the client. */
  readonly sessionId: string | undefined
  /** Number of the last chunk. */
  readonly number: number
  /** The last chunk, for `runs.stream(requestId, { lastEventId })`, which resumes after this chunk. */
  readonly lastEventId: string
  /** The text of the answer so far. */
  readonly output: string
}

/** Requests that open a stream. */
export interface StreamSource {
  requestId: string
  sessionId?: string | undefined
  /** Number of the last event that the reader has received, as the event had it, or 0. */
  after: string
  /** Sends the chat that starts the run; absent for an existing run. The same chat is sent again until the first event arrives. */
  start?: (signal: AbortSignal) => Promise<Response>
  /** Runs the calls of client tools, after which the run goes on. Absent: the stream ends with them. */
  answer?: (calls: Schema<'ClientToolCalls'>) => Promise<void>
  /** Requests the events after a number. */
  resume: (after: string, signal: AbortSignal) => Promise<Response>
}

/** A connection of this age counts as progress, even without events. A run may wait for hours for an approval. */
const stableMs = 10_000

export function createRunStream(source: StreamSource, options: StreamOptions): RunStream {
  const { signal, silenceMs = 45_000, throughApprovals = false, onProgress } = options
  const position = createPosition(source.after)
  let { sessionId } = source
  let output = ''
  let hasStarted = source.start === undefined

  const open = async (connectionSignal: AbortSignal): Promise<Response> => {
    const isStart = source.start !== undefined && !hasStarted
    const response = await (isStart ? source.start!(connectionSignal) : source.resume(position.digits, connectionSignal))
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
          if (event.type !== 'message') {
            const progress = toProgress(event)
            if (progress) onProgress?.(progress)
            continue
          }
          const chunk = toChunk(event)
          const readFailure = readFailureOf(chunk, position.number)
          if (readFailure) throw readFailure
          if (!position.accept(chunk, event.id)) continue
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
      if (last) {
        const { client_tool_calls: calls, approval_required: approval, budget_required: budget } = last
        if (calls && source.answer) await source.answer(calls)
        const goesOn = (approval ?? budget) ? throughApprovals : calls !== undefined && source.answer !== undefined
        if (!goesOn) return
        continue
      }
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
    get lastEventId() {
      return `${source.requestId}:${position.digits}`
    },
    get output() {
      return output
    },
    [Symbol.asyncIterator]: () => chunks,
  }
}
