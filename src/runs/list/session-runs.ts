import type { Owner } from '../../access/owner.ts'
import type { RunStatus } from '../run.ts'
import type { ListedRun, RunListStore } from './run-list-store.ts'

/** Finds runs by the caller's own session, for clients that know a conversation but no run. */
export interface SessionRuns {
  /** The newest run of the session, of this status if one is given; undefined for none. */
  newest(caller: Owner, sessionId: string, status?: RunStatus): Promise<ListedRun | undefined>
}

export function createSessionRuns(store: RunListStore): SessionRuns {
  return {
    async newest(caller, sessionId, status) {
      const [run] = await store.list(caller, { ...unfiltered, sessionId, status, limit: 1 })
      return run
    },
  }
}

const unfiltered = {
  operation: undefined,
  sub: undefined,
  tool: undefined,
  version: undefined,
  since: undefined,
  until: undefined,
  anyOwner: false,
  before: undefined,
} as const
