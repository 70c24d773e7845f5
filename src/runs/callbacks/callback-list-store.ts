import type { Owner } from '../../access/owner.ts'
import type { RowPosition } from '../../json/offset.ts'
import type { RunKey } from '../run.ts'
import type { StoredRun } from '../run-store.ts'
import type { CallbackStatus, StoredCallback } from './callback-store.ts'

/** Port: the callbacks of a tenant as a list, newest first. */
export interface CallbackListStore {
  list(caller: Owner, page: CallbackPage): Promise<ListedCallback[]>
  /** Existing runs with these keys, in no order. */
  runsOf(tenant: string, keys: readonly RunKey[]): Promise<StoredRun[]>
}

export interface CallbackPage {
  /** Undefined: callbacks of every status. */
  status: CallbackStatus | undefined
  limit: number
  /** True for the callbacks of all owners in the tenant. */
  anyOwner: boolean
  /** The last callback of the page before. */
  before: RowPosition | undefined
}

export interface ListedCallback extends RunKey, Pick<StoredCallback, 'eventId' | 'url' | 'status' | 'attempts'> {
  /** When the event was accepted. */
  createdAt: number
  /** Absent before the first attempt, and where no further attempt is planned. */
  nextAttemptAt: number | undefined
}
