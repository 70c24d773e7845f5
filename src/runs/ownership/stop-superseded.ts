import { ServiceError } from '../../errors.ts'
import type { LiveRun } from './live-run.ts'
import type { RunStore } from '../run-store.ts'
import { reachState } from '../../states.ts'

/** Stops the runs of the local process that another process has taken over, or whose session was deleted: the store accepts no write of them any more. */
export async function stopSuperseded(store: Pick<RunStore, 'find'>, runs: readonly LiveRun[]): Promise<void> {
  for (const run of runs) {
    const isHeld = await store.find(run.key).then(
      (stored) => stored === undefined || stored.fence === run.fence,
      (error: unknown) => !(error instanceof ServiceError && error.code === 'gone'),
    )
    if (isHeld) continue
    reachState('run-superseded')
    run.stop('superseded')
  }
}
