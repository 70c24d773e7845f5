import type { Owner } from '../../access/owner.ts'
import type { RunStatus } from '../run.ts'
import { noFilters, type ListedRun, type RunListStore } from './run-list-store.ts'

/** Finds runs by the caller's own session, for clients that know a conversation but no run. */
export interface SessionRuns {
  /** The newest run of the session, of this status if one is given; undefined for none. */
  newest(caller: Owner, sessionId: string, status?: RunStatus): Promise<ListedRun | undefined>
}

export function createSessionRuns(store: RunListStore): SessionRuns {
  return {
    async newest(caller, sessionId, status) {
      const [run] = await store.list(caller, { ...noFilters, sessionId, status, limit: 1, anyOwner: false, before: undefined })
      return run
    },
  }
}
