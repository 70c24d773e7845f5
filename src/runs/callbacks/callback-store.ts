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
  /** Number of the reported interruption of the run, from 1; absent for a report of the end. */
  interruption?: number
  /** The start of what was sent, as safe text; absent where the run has it. */
  requestBody?: string
  /** The start of the receiver's answer, as safe text; absent for older attempts of a callback with many. */
  responseBody?: string
}

/** The state of a callback after an attempt. */
export interface CallbackVerdict {
  status: CallbackStatus
  /** Epoch milliseconds of the next attempt; absent after the last. */
  nextAt?: number
}

export interface StoredCallback {
  eventId: string
  url: string
  status: CallbackStatus
  attempts: CallbackAttempt[]
  /** Number of manual resends. A job of an earlier round does nothing. */
  round: number
  /** Attempts in this round. */
  tries: number
}

/** Port: storage of callbacks. A callback is stored in the transaction that stores its run. */
export interface CallbackStore {
  find(key: RunKey): Promise<StoredCallback | undefined>
  /** Stores an attempt and the callback's new status. A delivered callback stays delivered. */
  record(key: RunKey, round: number, attempt: CallbackAttempt, verdict: CallbackVerdict): Promise<void>
  /** Adds an attempt to report an interruption. The status is that of the report of the end, and does not change. */
  note(key: RunKey, attempt: CallbackAttempt): Promise<void>
  /** Starts a new round with the job returned by `toJob`; false when the callback was already delivered. */
  restart(key: RunKey, toJob: (round: number) => NewJob): Promise<boolean>
}
