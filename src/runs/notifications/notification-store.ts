import type { CallbackAttempt, CallbackStatus, CallbackVerdict } from '../callbacks/callback-store.ts'
import type { RunKey } from '../run.ts'

/** `waiting`: the task has not changed yet. `pending`: a notification is to be sent. */
export type NotificationStatus = 'waiting' | CallbackStatus

/** An address that is notified when a run waits for its caller, and when the run has ended. */
export interface NotificationConfig {
  /** Unique within the run. */
  id: string
  url: string
  /** Sent as `x-a2a-notification-token`. */
  token?: string
  /** Sent as `authorization: <scheme> <credentials>`. */
  authentication?: { scheme: string; credentials: string }
  /** True for a config that was made with an earlier version of the protocol: notifications have its form. */
  isLegacy?: boolean
  /** True where a notification may contain links to files: the key could read files when the config was made. */
  links: boolean
}

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
