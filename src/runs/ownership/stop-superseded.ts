import { ServiceError } from '../../errors.ts'
import type { LiveRun } from './live-run.ts'
import type { RunStore } from '../run-store.ts'

/** Stops those of a process's runs that are another's by now, or whose session was deleted: nothing that they do counts any more. */
export async function stopSuperseded(store: Pick<RunStore, 'find'>, runs: readonly LiveRun[]): Promise<void> {
  for (const run of runs) {
    const isOurs = await store.find(run.key).then(
      (stored) => stored === undefined || stored.fence === run.fence,
      (error: unknown) => !(error instanceof ServiceError && error.code === 'gone'),
    )
    if (!isOurs) run.stop('superseded')
  }
}
