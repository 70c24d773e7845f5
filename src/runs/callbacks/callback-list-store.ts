import type { Owner } from '../../access/owner.ts'
import type { RowPosition } from '../../json/offset.ts'
import type { RunKey } from '../run.ts'
import type { StoredRun } from '../run-store.ts'
import type { CallbackStatus, StoredCallback } from './callback-store.ts'

/** Port: the callbacks and the push notifications of a tenant as one list, newest first. */
export interface CallbackListStore {
  list(caller: Owner, page: CallbackPage): Promise<ListedCallback[]>
  /** Existing runs with these keys, in no order. */
  runsOf(tenant: string, keys: readonly RunKey[]): Promise<StoredRun[]>
}

export interface CallbackPage {
  /** Undefined: every status. */
  status: CallbackStatus | undefined
  limit: number
  /** True for the callbacks of all owners in the tenant. */
  anyOwner: boolean
  /** The last callback of the page before. */
  before: CallbackPosition | undefined
}

export interface CallbackPosition extends RowPosition {
  /** Of a notification; empty for a callback. */
  configId: string
}

export interface ListedCallback extends RunKey, CallbackPosition, Pick<StoredCallback, 'url' | 'status' | 'attempts'> {
  /** The event of the run that a callback reports; empty for a notification. */
  eventId: string
  /** When the event was accepted, or the address was given. */
  createdAt: number
  /** Absent before the first attempt, and where no further attempt is planned. */
  nextAttemptAt: number | undefined
}
