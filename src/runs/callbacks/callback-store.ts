import type { NewJob } from '../jobs.ts'
import type { RunKey } from '../run.ts'

/** `gone`: the receiver answered 410 and wants no further attempts. */
export type CallbackStatus = 'pending' | 'delivered' | 'failed' | 'gone'

export interface CallbackAttempt {
  /** Epoch milliseconds. */
  at: number
  /** HTTP status; null where no response arrived. */
  status: number | null
  error?: string
}

export interface StoredCallback {
  eventId: string
  url: string
  status: CallbackStatus
  attempts: CallbackAttempt[]
  /** How often a caller had the callback sent again. A job of an earlier round does nothing. */
  round: number
  /** Attempts of this round. */
  tries: number
}

/** Port: where callbacks are kept. A callback is stored in the transaction of its run. */
export interface CallbackStore {
  find(key: RunKey): Promise<StoredCallback | undefined>
  /** Keeps an attempt and the callback's new status. A delivered callback stays delivered. */
  record(key: RunKey, round: number, attempt: CallbackAttempt, status: CallbackStatus): Promise<void>
  /** Begins a new round with the job that `toJob` makes; false where the callback was delivered. */
  restart(key: RunKey, toJob: (round: number) => NewJob): Promise<boolean>
}
