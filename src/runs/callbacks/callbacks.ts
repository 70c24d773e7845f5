import type { ToAnswerFiles, AnswerFile } from '../../artifacts/answer-files.ts'
import { ServiceError } from '../../errors.ts'
import {
  attemptToSend,
  verdictAfter,
  type AttemptDependencies,
  type Receivers,
  type CallbackAttempt,
  type CallbackStore,
  type StoredCallback,
  type CallbackStatus,
} from './attempt.ts'
import type { Job, JobOutcome, Jobs, NewJob } from '../jobs.ts'
import { keptFilesOf, resultOf, collect } from '../log/outcome.ts'
import type { RunKey } from '../run.ts'
import type { RunStore, StoredRun } from '../run-store.ts'
import { reachState } from '../../states.ts'
import { hideUrlSecrets } from '../../configuration/redact.ts'
import { toWaitingFields } from '../approvals/approval-view.ts'
import { fromCompact } from '../log/compact-log.ts'

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

const completedType = 'ai.service.agent.chain.completed'
const failedType = 'ai.service.agent.chain.failed'
export const interruptedType = 'ai.service.agent.chain.interrupted'

/** The CloudEvents types of callbacks. */
export const callbackTypes = [completedType, failedType, interruptedType] as const

/** The id of the event that reports interruption number `n` of a run. */
function interruptionEventId(requestId: string, n: number): string {
  return `${requestId}:interrupt:${n}`
}

interface CallbackBodyOptions {
  eventId: string
  /** The service's public address. */
  source: string
  files: readonly AnswerFile[]
}

/** A CloudEvents 1.0 event in structured mode, as JSON. Deterministic: repeated calls with equal options return equal text. */
export function toCallbackBody(run: StoredRun, { eventId, source, files }: CallbackBodyOptions): string {
  const { outcome, error } = resultOf(run)
  return toEventText(run, {
    type: error ? failedType : completedType,
    source,
    id: run.requestId,
    time: run.endedAt ?? run.createdAt,
    data: { event_id: eventId, ...(error ? { error } : { body: outcome && { ...outcome.answer, generated_artifacts: files } }) },
  })
}

/** An interruption of a run: its number, from 1, and its time in epoch milliseconds. */
interface Interrupting {
  n: number
  at: number
}

/** The event about an interruption of a run, with the calls that the run waits for. */
function toInterruptionBody(run: StoredRun, { n, at }: Interrupting, { eventId, source, files }: CallbackBodyOptions): string {
  const { answer, end } = collect(run.log?.input ?? '', fromCompact(run.log?.events ?? []))
  const calls = end.type === 'interrupt' ? toWaitingFields(run.requestId, end.calls) : {}
  return toEventText(run, {
    type: interruptedType,
    source,
    id: interruptionEventId(run.requestId, n),
    time: at,
    data: { event_id: eventId, body: { ...answer, generated_artifacts: files }, ...calls },
  })
}

interface EventFields {
  type: (typeof callbackTypes)[number]
  source: string
  id: string
  /** Epoch milliseconds. */
  time: number
  data: { event_id: string; [field: string]: unknown }
}

function toEventText({ requestId, sessionId }: StoredRun, { type, source, id, time, data: { event_id, ...fields } }: EventFields): string {
  return JSON.stringify({
    specversion: '1.0',
    type,
    source,
    id,
    subject: sessionId,
    time: new Date(time).toISOString(),
    data: { event_id, request_id: requestId, session_id: sessionId, ...fields },
  })
}

/** JSON view of a callback for the run's caller. The URL has no user or password. */
export interface CallbackView {
  url: string
  status: CallbackStatus
  attempts: { at: string; event?: typeof interruptedType; status: number | null; error?: string }[]
}

export function toCallbackView({ url, status, attempts }: StoredCallback): CallbackView {
  return { url: withoutUser(url), status, attempts: attempts.map(toAttempt) }
}

export function toAttempt({ at, status, error, interruption }: CallbackAttempt): CallbackView['attempts'][number] {
  return {
    at: new Date(at).toISOString(),
    ...(interruption === undefined ? {} : { event: interruptedType }),
    status,
    ...(error === undefined ? {} : { error }),
  }
}

/** The URL for readers who are not the owner of the run: user, password and query are masked. */
export function toForeignUrl(address: string): string {
  return hideUrlSecrets(new URL(address).href)
}

export function withoutUser(address: string): string {
  const url = new URL(address)
  if (url.username === '' && url.password === '') return address
  url.username = ''
  url.password = ''
  return url.href
}
