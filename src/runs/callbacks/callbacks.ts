import { ServiceError } from '../../errors.ts'
import { toCallbackBody } from './callback-event.ts'
import type { CallbackAttempt, CallbackStatus, CallbackStore, StoredCallback } from './callback-store.ts'
import { createReceivers } from './receivers.ts'
import type { Job, JobOutcome, Jobs, NewJob } from '../jobs.ts'
import type { RunKey } from '../run.ts'
import type { RunStore } from '../run-store.ts'

/** Port: sends a callback once; answers with the HTTP status. What can be told of a failure is a `CallbackNotSent`. */
export type SendCallback = (callback: OutgoingCallback, signal: AbortSignal) => Promise<number>

export interface OutgoingCallback {
  tenant: string
  /** May hold a user and a password. */
  url: string
  /** Equal at every attempt, so that its receiver can drop what it has. */
  id: string
  body: string
}

/** No answer came. The message is for the run's caller. */
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
  /** Delays between attempts, in milliseconds: after the last comes no further one. */
  retryMs: readonly number[]
  now(): number
  newId(): string
  /** From 0 to 1. */
  random(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** What callers of async runs are told of their ends. */
export interface Callbacks {
  find(key: RunKey): Promise<StoredCallback | undefined>
  /** One attempt. */
  deliver(job: Job<'callback'>, signal: AbortSignal): Promise<JobOutcome>
  /** Has an undelivered one sent again now, and resolves when it was tried. */
  resend(key: RunKey, left: AbortSignal): Promise<void>
}

/** At most so much of each delay is added to it, so that not all come back to a receiver at once. */
const jitter = 0.25
/** A little more than an attempt takes. */
const resendMs = 17_000
const lookEveryMs = 200

export function createCallbacks(deps: CallbackDependencies): Callbacks {
  const { store, runs, jobs, send, now, newId, sleep } = deps
  const receivers = createReceivers(now)

  async function deliver({ tenant, data }: Job<'callback'>, signal: AbortSignal): Promise<JobOutcome> {
    const key = { tenant, owner: data.owner, requestId: data.requestId }
    const callback = await store.find(key)
    if (!callback || callback.round !== data.round || callback.status !== 'pending') return { kind: 'done' }
    const leave = receivers.enter(callback.url)
    // None of its attempts.
    if (typeof leave === 'number') return { kind: 'again', at: Math.round(now() + leave * (1 + deps.random())) }
    const attempt = await trySend(key, callback, signal).finally(leave)
    // Deleted with its session.
    if (!attempt) return { kind: 'done' }
    const delayMs = deps.retryMs[callback.tries]
    const status = statusAfter(attempt, delayMs !== undefined)
    await store.record(key, callback.round, attempt, status)
    if (status !== 'pending' || delayMs === undefined) return { kind: 'done' }
    return { kind: 'again', at: Math.round(now() + delayMs * (1 + jitter * deps.random())) }
  }

  async function trySend(key: RunKey, { url, eventId }: StoredCallback, signal: AbortSignal): Promise<CallbackAttempt | undefined> {
    const run = await runs.find(key)
    if (run?.endedAt === undefined) return undefined
    const callback = { tenant: key.tenant, url, id: key.requestId, body: toCallbackBody(run, eventId, deps.source()) }
    const at = now()
    try {
      const status = await send(callback, signal)
      return { at, status, ...(status >= 300 && status < 400 ? { error: 'Redirects are not followed.' } : {}) }
    } catch (error) {
      if (error instanceof CallbackNotSent) return { at, status: null, error: error.message }
      throw error
    }
  }

  async function resend(key: RunKey, left: AbortSignal): Promise<void> {
    const [run, callback] = await Promise.all([runs.find(key), store.find(key)])
    if (!run || !callback) throw new ServiceError('not_found', `There is no callback of run ${key.requestId}.`)
    if (run.endedAt === undefined) throw new ServiceError('run_not_ended', `Run ${key.requestId} has not ended yet.`)
    const delivered = () => new ServiceError('callback_delivered', `The callback of run ${key.requestId} was delivered.`)
    if (callback.status === 'delivered') throw delivered()
    if (!(await store.restart(key, (round) => callbackJob(key, { id: newId(), round, now: now() })))) throw delivered()
    jobs.wake('callback')
    await tried(key, callback, left)
  }

  /** Any process may do the job: the store alone knows. */
  async function tried(key: RunKey, before: StoredCallback, left: AbortSignal): Promise<void> {
    for (const until = now() + resendMs; now() < until && !left.aborted;) {
      await sleep(lookEveryMs, left).catch(() => undefined)
      const callback = await store.find(key)
      if (!callback || callback.round > before.round + 1 || callback.tries > 0 || callback.status !== 'pending') return
    }
  }

  return { find: store.find, deliver, resend }
}

/** What a run ends with whose caller wants to be told. */
export function callbackJob({ tenant, owner, requestId }: RunKey, { id, round, now }: { id: string; round: number; now: number }): NewJob {
  return { id, kind: 'callback', tenant, data: { owner, requestId, round }, dueAt: now }
}

function statusAfter({ status }: CallbackAttempt, mayGoOn: boolean): CallbackStatus {
  if (status !== null && status >= 200 && status < 300) return 'delivered'
  if (status === 410) return 'gone'
  return mayGoOn ? 'pending' : 'failed'
}
