import { ServiceError } from '../../errors.ts'
import { toCallbackBody } from './callback-event.ts'
import type { CallbackAttempt, CallbackStatus, CallbackStore, StoredCallback } from './callback-store.ts'
import { createReceivers } from './receivers.ts'
import type { Job, JobOutcome, Jobs, NewJob } from '../jobs.ts'
import type { RunKey } from '../run.ts'
import type { RunStore } from '../run-store.ts'

/** Port: sends a callback once and resolves with the receiver's answer. Throws `CallbackNotSent` when no response arrived. */
export type SendCallback = (callback: OutgoingCallback, signal: AbortSignal) => Promise<CallbackAnswer>

export interface CallbackAnswer {
  /** HTTP status. */
  status: number
  /** The start of the body; see `toBodyExcerpt`. */
  body: string
}

export interface OutgoingCallback {
  tenant: string
  /** May contain a user and a password. */
  url: string
  /** CloudEvents id: equal in every attempt, so that the receiver can drop duplicates. */
  id: string
  body: string
}

/** No response arrived. The message is shown to the run's caller. */
export class CallbackNotSent extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CallbackNotSent'
  }
}

export interface CallbackDependencies {
  store: CallbackStore
  runs: Pick<RunStore, 'find'>
  jobs: Pick<Jobs, 'wake'>
  send: SendCallback
  /** The service's public address. */
  source(): string
  /** Delays between attempts, in milliseconds. After the last delay there is one more attempt. */
  retryMs: readonly number[]
  now(): number
  newId(): string
  /** A random number from 0 to 1. */
  random(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Callbacks (webhooks) that report the end of async runs. */
export interface Callbacks {
  find(key: RunKey): Promise<StoredCallback | undefined>
  /** Makes one attempt to deliver a callback. */
  deliver(job: Job<'callback'>, signal: AbortSignal): Promise<JobOutcome>
  /**
   * Starts a new round for an undelivered callback. Resolves after the first attempt, after 17 s, or when the caller has disconnected.
   * Throws `not_found`, `run_not_ended` or `callback_delivered`.
   */
  resend(key: RunKey, disconnected: AbortSignal): Promise<void>
}

/** Largest random share added to a delay, so that retries do not reach a receiver all at once. */
const jitter = 0.25
/** Slightly longer than the timeout of one attempt. */
const resendMs = 17_000
const pollMs = 200

export function createCallbacks(deps: CallbackDependencies): Callbacks {
  const { store, runs, jobs, send, now, newId, sleep } = deps
  const receivers = createReceivers(now)

  async function deliver({ tenant, data }: Job<'callback'>, signal: AbortSignal): Promise<JobOutcome> {
    const key = { tenant, owner: data.owner, requestId: data.requestId }
    const callback = await store.find(key)
    if (!callback || callback.round !== data.round || callback.status !== 'pending') return { kind: 'done' }
    const entry = receivers.enter(callback.url)
    // The receiver is at its limit: try later. The postponement does not count as an attempt.
    if (typeof entry === 'number') return { kind: 'again', at: Math.round(now() + entry * (1 + deps.random())) }
    const attempt = await trySend(key, callback, signal).finally(entry)
    // The run was deleted together with the session.
    if (!attempt) return { kind: 'done' }
    const delayMs = deps.retryMs[callback.tries]
    const status = statusAfter(attempt, delayMs !== undefined)
    const isLast = status !== 'pending' || delayMs === undefined
    const nextAt = isLast ? undefined : Math.round(now() + delayMs * (1 + jitter * deps.random()))
    await store.record(key, callback.round, attempt, { status, ...(nextAt === undefined ? {} : { nextAt }) })
    return nextAt === undefined ? { kind: 'done' } : { kind: 'again', at: nextAt }
  }

  async function trySend(key: RunKey, { url, eventId }: StoredCallback, signal: AbortSignal): Promise<CallbackAttempt | undefined> {
    const run = await runs.find(key)
    if (run?.endedAt === undefined) return undefined
    const callback = { tenant: key.tenant, url, id: key.requestId, body: toCallbackBody(run, eventId, deps.source()) }
    const at = now()
    try {
      const { status, body } = await send(callback, signal)
      const isRedirect = status >= 300 && status < 400
      return { at, status, ...(isRedirect ? { error: 'Redirects are not followed.' } : {}), ...(body === '' ? {} : { responseBody: body }) }
    } catch (error) {
      if (error instanceof CallbackNotSent) return { at, status: null, error: error.message }
      throw error
    }
  }

  async function resend(key: RunKey, disconnected: AbortSignal): Promise<void> {
    const [run, callback] = await Promise.all([runs.find(key), store.find(key)])
    if (!run || !callback) throw new ServiceError('not_found', `There is no callback of run ${key.requestId}.`)
    if (run.endedAt === undefined) throw new ServiceError('run_not_ended', `Run ${key.requestId} has not ended yet.`)
    const delivered = () => new ServiceError('callback_delivered', `The callback of run ${key.requestId} was already delivered.`)
    if (callback.status === 'delivered') throw delivered()
    if (!(await store.restart(key, (round) => callbackJob(key, { id: newId(), round, now: now() })))) throw delivered()
    jobs.wake('callback')
    await waitForAttempt(key, callback, disconnected)
  }

  /** Polls the store, because any process may execute the job. */
  async function waitForAttempt(key: RunKey, before: StoredCallback, disconnected: AbortSignal): Promise<void> {
    for (const until = now() + resendMs; now() < until && !disconnected.aborted;) {
      await sleep(pollMs, disconnected).catch(() => undefined)
      const callback = await store.find(key)
      if (!callback || callback.round > before.round + 1 || callback.tries > 0 || callback.status !== 'pending') return
    }
  }

  return { find: store.find, deliver, resend }
}

/** The job, added with the end of a run, that delivers the run's callback. */
export function callbackJob({ tenant, owner, requestId }: RunKey, { id, round, now }: { id: string; round: number; now: number }): NewJob {
  return { id, kind: 'callback', tenant, data: { owner, requestId, round }, dueAt: now }
}

function statusAfter({ status }: CallbackAttempt, hasRetries: boolean): CallbackStatus {
  if (status !== null && status >= 200 && status < 300) return 'delivered'
  if (status === 410) return 'gone'
  return hasRetries ? 'pending' : 'failed'
}
