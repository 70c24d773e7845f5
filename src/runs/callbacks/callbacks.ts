import type { ToAnswerFiles } from '../../artifacts/answer-files.ts'
import { ServiceError } from '../../errors.ts'
import { attemptToSend, verdictAfter, type AttemptDependencies, type Receivers } from './attempt.ts'
import { interruptionEventId, toCallbackBody, toInterruptionBody } from './callback-event.ts'
import type { CallbackAttempt, CallbackStore, StoredCallback } from './callback-store.ts'
import type { Job, JobOutcome, Jobs, NewJob } from '../jobs.ts'
import { keptFilesOf } from '../run-result.ts'
import type { RunKey } from '../run.ts'
import type { RunStore } from '../run-store.ts'
import { reachState } from '../../states.ts'

export interface CallbackDependencies extends AttemptDependencies {
  store: CallbackStore
  runs: Pick<RunStore, 'find'>
  jobs: Pick<Jobs, 'wake'>
  toAnswerFiles: ToAnswerFiles
  /** The service's public address. */
  source(): string
  newId(): string
  receivers: Receivers
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Callbacks (webhooks) that report the end of async runs, and on request their interruptions. */
export interface Callbacks {
  find(key: RunKey): Promise<StoredCallback | undefined>
  /** Makes one attempt to deliver a callback. */
  deliver(job: Job<'callback'>, signal: AbortSignal): Promise<JobOutcome>
  /** Makes one attempt to report an interruption; none where the run has resumed or ended since. */
  deliverInterruption(job: Job<'interrupt_callback'>, signal: AbortSignal): Promise<JobOutcome>
  /**
   * Starts a new round for an undelivered callback. Resolves after the first attempt, after 17 s, or when the caller has disconnected.
   * Throws `not_found`, `run_not_ended` or `callback_delivered`.
   */
  resend(key: RunKey, disconnected: AbortSignal): Promise<void>
}

/** Slightly longer than the timeout of one attempt. */
const resendMs = 17_000
const pollMs = 200

export function createCallbacks(deps: CallbackDependencies): Callbacks {
  const { store, runs, jobs, receivers, now, newId, sleep } = deps

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
    const verdict = verdictAfter(deps, attempt, callback.tries)
    if (verdict.status === 'pending') reachState('callback-refused')
    if (verdict.status === 'delivered' && callback.tries > 0) reachState('callback-of-late-try')
    await store.record(key, callback.round, attempt, verdict)
    return verdict.nextAt === undefined ? { kind: 'done' } : { kind: 'again', at: verdict.nextAt }
  }

  async function deliverInterruption({ tenant, data }: Job<'interrupt_callback'>, signal: AbortSignal): Promise<JobOutcome> {
    const { owner, requestId, fence, n } = data
    const key = { tenant, owner, requestId }
    const [run, callback] = await Promise.all([runs.find(key).catch(undefinedIfGone), store.find(key)])
    if (!callback || run?.status !== 'interrupted' || run.fence !== fence) return { kind: 'done' }
    const entry = receivers.enter(callback.url)
    if (typeof entry === 'number') return { kind: 'again', at: Math.round(now() + entry * (1 + deps.random())) }
    const kept = keptFilesOf(run)
    const files = kept ? await deps.toAnswerFiles(kept, run.request?.callbackLinks === true) : []
    const body = toInterruptionBody(run, data, { eventId: callback.eventId, source: deps.source(), files })
    const id = interruptionEventId(requestId, n)
    const attempt = await attemptToSend(deps, { tenant, url: callback.url, id, body }, signal).finally(entry)
    await store.note(key, { ...attempt, interruption: n })
    const { nextAt } = verdictAfter(deps, attempt, callback.attempts.filter(({ interruption }) => interruption === n).length)
    return nextAt === undefined ? { kind: 'done' } : { kind: 'again', at: nextAt }
  }

  async function trySend(key: RunKey, callback: StoredCallback, signal: AbortSignal): Promise<CallbackAttempt | undefined> {
    const run = await runs.find(key)
    if (run?.endedAt === undefined) return undefined
    const kept = keptFilesOf(run)
    const files = kept ? await deps.toAnswerFiles(kept, run.log?.callbackLinks === true) : []
    const body = toCallbackBody(run, { eventId: callback.eventId, source: deps.source(), files })
    return attemptToSend(deps, { tenant: key.tenant, url: callback.url, id: key.requestId, body }, signal)
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

  return { find: store.find, deliver, deliverInterruption, resend }
}

/** A deleted run has nothing to report. */
function undefinedIfGone(error: unknown): undefined {
  if (!(error instanceof ServiceError && error.code === 'gone')) throw error
}

/** The job, added with the end of a run, that delivers the run's callback. */
export function callbackJob({ tenant, owner, requestId }: RunKey, { id, round, now }: { id: string; round: number; now: number }): NewJob {
  return { id, kind: 'callback', tenant, data: { owner, requestId, round }, dueAt: now }
}
