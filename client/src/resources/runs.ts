import type { CallOptions, Query, Reply, RequestOptions } from '../operation.ts'
import { newId } from '../ids.ts'
import { repeat, withDefaults, type RetryOptions } from '../retry.ts'
import { digitsOf } from '../stream/chunk.ts'
import { resumeRun } from '../stream/resume-run.ts'
import { createRunStream, type RunStream, type StreamOptions } from '../stream/run-stream.ts'
import type { Transport } from '../transport.ts'
import { nextPage, readPages } from './pages.ts'

export type Run = Reply<'GET', '/core/v1/runs/{request_id}'>
export type RunPage = Reply<'GET', '/core/v1/runs'>
export type RunFilter = Query<'GET', '/core/v1/runs'>
export type RunTrace = Reply<'GET', '/core/v1/runs/{request_id}/trace'>
export type Feedback = RequestOptions<'POST', '/core/v1/runs/{request_id}/feedback'>['body']
export type AcceptedMessage = Reply<'POST', '/core/v1/runs/{request_id}/messages'>
export type RunMessages = Reply<'GET', '/core/v1/runs/{request_id}/messages'>
export type LearnedFeedback = Reply<'POST', '/core/v1/runs/{request_id}/feedback'>

/** Names the owner of a run. Administrators need an owner only if two callers have used the same request id. */
export interface OwnerOptions extends CallOptions {
  issuer?: string | undefined
  sub?: string | undefined
}

export interface FollowOptions extends StreamOptions, Omit<OwnerOptions, 'headers'> {
  /** The last chunk that the reader has received: its number, or its event id. Without a value the stream begins at the start. */
  lastEventId?: number | string | undefined
}

export interface SteerOptions extends CallOptions, RetryOptions {
  /** `follow_up`: the message is answered by a run of its own behind the run. Default: `steer`. */
  mode?: 'steer' | 'follow_up' | undefined
  /** The same message with the same id is sent once. Default: a new id. */
  messageId?: string | undefined
}

/** Runs, named by their request ids. */
export interface Runs {
  /** Lists a page of runs, newest first: the caller's own, or those of the tenant with the permission `observability.read`. */
  list(filter?: RunFilter, options?: CallOptions): Promise<RunPage>
  /** Yields all runs, page by page. */
  all(filter?: RunFilter, options?: CallOptions): AsyncGenerator<RunPage['runs'][number], void>
  /** Returns the state of a run. An ended run has its outcome or its error. */
  get(requestId: string, options?: OwnerOptions): Promise<Run>
  /** Yields the chunks of a run from the start, or after `lastEventId`, then live. The stream resumes like the stream of a chat. */
  stream(requestId: string, options?: FollowOptions): RunStream
  /** Returns the spans of a run: model calls, tool calls, waits. With `span`, that span alone, uncut; a model call also has `messages`. */
  trace(requestId: string, options?: OwnerOptions & { span?: string }): Promise<RunTrace>
  /**
   * Sends a message to a run that goes on: the run reads the message before its next model call. A message that the run does not read begins the
   * next run of the session, named by `message_id`. Throws 409 `RunEnded` for an ended run: send a chat then.
   */
  steer(requestId: string, message: string, options?: SteerOptions): Promise<AcceptedMessage>
  /** Returns the messages that were sent to a run, in order. */
  messages(requestId: string, options?: CallOptions): Promise<RunMessages>
  /** Cancels a run. Throws 409 `RunEnded` for an ended run. */
  cancel(requestId: string, options?: OwnerOptions): Promise<Run>
  /** Rates an answer, from -1 to 1. */
  feedback(requestId: string, feedback: Feedback, options?: CallOptions): Promise<LearnedFeedback>
  /** Sends an undelivered callback again. Throws 409 `CallbackDelivered` for a delivered callback. */
  resendCallback(requestId: string, options?: CallOptions): Promise<Run>
}

export function createRuns(transport: Transport, defaults: RetryOptions): Runs {
  const list: Runs['list'] = (query, options) => transport.request('GET', '/core/v1/runs', { ...options, query })

  return {
    list,

    all(filter, options) {
      const load = (before: string | undefined) => list({ ...filter, ...(before === undefined ? {} : { before }) }, options)
      return readPages(load, { elements: ({ runs }) => runs, next: nextPage })
    },

    get: (requestId, options) => transport.request('GET', '/core/v1/runs/{request_id}', ownedRun(requestId, options)),

    stream(requestId, options = {}) {
      const { lastEventId = 0, issuer, sub } = options
      const after = digitsOf(lastEventId)
      if (after === undefined) throw new TypeError(`The event id "${lastEventId}" must end with a number.`)
      const resume = (last: string, signal: AbortSignal) => {
        return resumeRun(transport, { requestId, after: last, owner: { issuer, sub }, signal })
      }
      return createRunStream({ requestId, after, resume }, withDefaults(options, defaults))
    },

    trace(requestId, options = {}) {
      const { query, ...parts } = ownedRun(requestId, options)
      return transport.request('GET', '/core/v1/runs/{request_id}/trace', { ...parts, query: { ...query, span: options.span } })
    },

    steer(requestId, message, { mode = 'steer', messageId = newId(), ...options } = {}) {
      const headers = { ...options.headers, 'request-id': messageId }
      const sent = { path: { request_id: requestId }, body: { message, mode }, headers, signal: options.signal }
      const send = () => transport.request('POST', '/core/v1/runs/{request_id}/messages', sent)
      return repeat(send, withDefaults(options, defaults), options.signal)
    },

    messages: (requestId, options) =>
      transport.request('GET', '/core/v1/runs/{request_id}/messages', { ...options, path: { request_id: requestId } }),

    cancel: (requestId, options) => transport.request('DELETE', '/core/v1/runs/{request_id}', ownedRun(requestId, options)),

    feedback: (requestId, body, options) =>
      transport.request('POST', '/core/v1/runs/{request_id}/feedback', { ...options, path: { request_id: requestId }, body }),

    resendCallback: (requestId, options) =>
      transport.request('POST', '/core/v1/runs/{request_id}/callback', { ...options, path: { request_id: requestId } }),
  }
}

function ownedRun(requestId: string, { issuer, sub, headers, signal }: OwnerOptions = {}) {
  return { path: { request_id: requestId }, query: { issuer, sub }, headers, signal }
}
