import type { NotificationConfig, RunStore, StoredRun } from '../run-store.ts'
import { hash } from 'node:crypto'
import {
  toBodyExcerpt,
  attemptToSend,
  verdictAfter,
  type AttemptDependencies,
  type Receivers,
  type CallbackAttempt,
  type CallbackStatus,
  type CallbackVerdict,
} from './attempt.ts'
import type { Job, JobOutcome, NewJob } from '../jobs.ts'
import type { RunKey } from '../run.ts'
import { runKeyText } from '../ownership/run-registry.ts'

/** `waiting`: the task has not changed yet. `pending`: a notification is to be sent. */
export type NotificationStatus = 'waiting' | CallbackStatus

export interface StoredNotification extends NotificationConfig {
  status: NotificationStatus
  /** Number of changes of the run that were to be sent. The job of an earlier change does nothing. */
  round: number
  /** Attempts in this round. */
  tries: number
}

/** Port: notification configs of runs. They are removed with their run. */
export interface NotificationStore {
  /**
   * Stores a config, or replaces the one with this id. Where the run waits or has ended, the first notification is due at once. Throws
   * `not_found` for an unknown run, `gone` for a removed one, and `validation` where the run has `max` configs.
   */
  add(key: RunKey, config: NotificationConfig, limits: { max: number; now: number }): Promise<void>
  find(key: RunKey, id: string): Promise<StoredNotification | undefined>
  /** In order of their ids. */
  list(key: RunKey): Promise<StoredNotification[]>
  remove(key: RunKey, id: string): Promise<void>
  /** Stores an attempt, and the status after it unless a later change of the run has begun a new round. */
  record(key: RunKey, id: string, round: number, attempt: CallbackAttempt, verdict: CallbackVerdict): Promise<void>
}

/** Port: the content of a notification: the current state of the task. */
export type ToNotificationBody = (run: StoredRun, config: Pick<NotificationConfig, 'links' | 'isLegacy'>) => Promise<NotificationBody>

export interface NotificationBody {
  contentType: string
  text: string
}

export interface NotificationDependencies extends AttemptDependencies {
  store: NotificationStore
  runs: Pick<RunStore, 'find'>
  receivers: Receivers
  toBody: ToNotificationBody
  /** Reports a notification that nobody accepted. */
  onFailed(key: RunKey, reason: string): void
}

/** Sends one notification. A job at least once; a receiver may get a notification twice, under the same `webhook-id`. */
export function createNotifications(deps: NotificationDependencies) {
  const { store, runs, receivers, toBody, now, random, onFailed } = deps

  async function deliver({ tenant, data }: Job<'notification'>, signal: AbortSignal): Promise<JobOutcome> {
    const key = { tenant, owner: data.owner, requestId: data.requestId }
    const config = await store.find(key, data.id)
    if (config?.round !== data.round || config.status !== 'pending') return { kind: 'done' }
    const run = await runs.find(key).catch(unlessGone)
    if (!run) return { kind: 'done' }
    const entry = receivers.enter(config.url)
    // The receiver is at its limit: try later. The postponement does not count as an attempt.
    if (typeof entry === 'number') return { kind: 'again', at: Math.round(now() + entry * (1 + random())) }
    const attempt = await trySend(run, config, signal).finally(entry)
    const verdict = verdictAfter(deps, attempt, config.tries)
    await store.record(key, config.id, config.round, attempt, verdict)
    if (verdict.status === 'failed') onFailed(key, attempt.error ?? `The receiver answered ${attempt.status}.`)
    return verdict.nextAt === undefined ? { kind: 'done' } : { kind: 'again', at: verdict.nextAt }
  }

  async function trySend(run: StoredRun, config: StoredNotification, signal: AbortSignal): Promise<CallbackAttempt> {
    const { contentType, text } = await toBody(run, config)
    const message = { tenant: run.tenant, url: config.url, id: messageId(run, config), body: text, contentType, headers: headersOf(config) }
    // Links to files are never stored.
    const shown = config.links ? await toBody(run, { ...config, links: false }) : { text }
    const requestBody = toBodyExcerpt(Buffer.from(shown.text))
    return { ...(await attemptToSend(deps, message, signal)), requestBody }
  }

  return { deliver }
}

/** The same in every attempt of a round, and a text that fits into a header whatever the ids are. */
function messageId(key: RunKey, { id, round }: StoredNotification): string {
  return `${key.requestId}:${hash('sha256', id).slice(0, 16)}:${round}`
}

function headersOf({ token, authentication }: StoredNotification): Record<string, string> {
  return {
    ...(token === undefined ? {} : { 'x-a2a-notification-token': token }),
    ...(authentication ? { authorization: `${authentication.scheme} ${authentication.credentials}`.trimEnd() } : {}),
  }
}

function unlessGone(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'gone') return undefined
  throw error
}

/** The job that sends a notification. The id is unique per change of the run, so that a change is queued once. */
export function notificationJob(key: RunKey, { id, round, now }: { id: string; round: number; now: number }): NewJob<'notification'> {
  const { tenant, owner, requestId } = key
  const name = hash('sha256', JSON.stringify([runKeyText(key), id, round]), 'base64url')
  return { id: `notification ${name}`, kind: 'notification', tenant, data: { owner, requestId, id, round }, dueAt: now }
}
