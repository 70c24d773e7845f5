import type { CallOptions, Reply, RequestOptions } from './operation.ts'
import { withDefaults, type RetryOptions } from './retry.ts'
import { numberOf } from './stream/chunk.ts'
import { resumeRun } from './stream/resume-run.ts'
import { createRunStream, type RunStream, type StreamOptions } from './stream/run-stream.ts'
import type { Transport } from './transport.ts'

export type Run = Reply<'GET', '/core/v1/runs/{request_id}'>
export type Feedback = RequestOptions<'POST', '/core/v1/runs/{request_id}/feedback'>['body']

/** Names the owner of a run. Administrators need an owner only where two callers use the same request id. */
export interface OwnerOptions extends CallOptions {
  issuer?: string | undefined
  sub?: string | undefined
}

export interface FollowOptions extends StreamOptions, Omit<OwnerOptions, 'headers'> {
  /** The last chunk that the reader has: its number, or its event id. Default: none, so that the stream begins at the start. */
  lastEventId?: number | string | undefined
}

/** Runs, named by their request ids. */
export interface Runs {
  /** The state of a run; after its end also its outcome or its error. */
  get(requestId: string, options?: OwnerOptions): Promise<Run>
  /** The chunks of a run from the start, or after `lastEventId`, then live. Resumes as `stream` of a chat does. */
  stream(requestId: string, options?: FollowOptions): RunStream
  /** Cancels a run. Throws 409 `RunEnded` for a run that has ended. */
  cancel(requestId: string, options?: OwnerOptions): Promise<Run>
  /** Rates an answer, from -1 to 1. */
  feedback(requestId: string, feedback: Feedback, options?: CallOptions): Promise<Reply<'POST', '/core/v1/runs/{request_id}/feedback'>>
  /** Sends an undelivered callback again. Throws 409 `CallbackDelivered` for a delivered one. */
  resendCallback(requestId: string, options?: CallOptions): Promise<Run>
}

export function createRuns(transport: Transport, defaults: RetryOptions): Runs {
  const parts = (requestId: string, options: CallOptions = {}) => ({ ...callOf(options), path: { request_id: requestId } })

  return {
    get: (requestId, options) =>
      transport.request('GET', '/core/v1/runs/{request_id}', { ...parts(requestId, options), query: ownerOf(options) }),

    stream(requestId, options = {}) {
      const { lastEventId = 0 } = options
      const after = numberOf(lastEventId)
      if (after === undefined) throw new TypeError(`The event id "${lastEventId}" must end with a number.`)
      const resume = (last: number, signal: AbortSignal) => {
        return resumeRun(transport, { requestId, after: last, owner: ownerOf(options), signal })
      }
      return createRunStream({ requestId, after, resume }, withDefaults(options, defaults))
    },

    cancel: (requestId, options) =>
      transport.request('DELETE', '/core/v1/runs/{request_id}', { ...parts(requestId, options), query: ownerOf(options) }),

    feedback: (requestId, feedback, options) =>
      transport.request('POST', '/core/v1/runs/{request_id}/feedback', { ...parts(requestId, options), body: feedback }),

    resendCallback: (requestId, options) => transport.request('POST', '/core/v1/runs/{request_id}/callback', parts(requestId, options)),
  }
}

function callOf({ headers, signal }: CallOptions): CallOptions {
  return { headers, signal }
}

function ownerOf({ issuer, sub }: Pick<OwnerOptions, 'issuer' | 'sub'> = {}) {
  return { issuer, sub }
}
