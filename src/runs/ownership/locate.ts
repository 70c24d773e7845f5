import { ServiceError } from '../../errors.ts'
import type { RunKey } from '../run.ts'
import type { RunStore, StoredRun } from '../run-store.ts'
import type { LiveRun } from './live-run.ts'
import type { RunRegistry } from './registry.ts'
import type { RunMutex } from './run-mutex.ts'

/** Who has a run, and so who may go on with the run, end it, or read it. */
export type RunLocation = HereRun | StoredLocation

/** The run is in the memory of this process. */
interface HereRun {
  kind: 'here'
  run: LiveRun
}

/** The run is in the store alone, as far as this process is concerned. */
export interface StoredLocation {
  kind: /** Another process holds the run. Its lease may have run out. */
    | 'remote'
    /** The store says that this process holds the run, but the run is not in memory: an internal error dropped it, or it has just ended. */
    | 'dropped'
    /** An accepted async run that no process has taken up yet, or that waits for its session. */
    | 'unclaimed'
    /** The run waits for approval. No process holds it. */
    | 'interrupted'
    /** The run has ended. A run that is `continuable` goes on when it is repeated. */
    | 'ended'
  run: StoredRun
}

interface LocateDependencies {
  store: Pick<RunStore, 'find'>
  registry: Pick<RunRegistry, 'find'>
  mutex: Pick<RunMutex, 'isHeld' | 'whenFree'>
  /** Id of this process. */
  holder: string
}

/** Undefined where the caller has no run with this key. Throws `gone` for a run whose session was deleted. */
export type Locate = (key: RunKey) => Promise<RunLocation | undefined>

/** The one place that knows who has a run. Waits while this process is claiming the run. */
export function createLocate({ store, registry, mutex, holder }: LocateDependencies): Locate {
  return async (key) => {
    for (;;) {
      const live = registry.find(key)
      if (live) return { kind: 'here', run: live }
      if (mutex.isHeld(key)) {
        await mutex.whenFree(key)
        continue
      }
      const stored = await store.find(key)
      // The run may have been claimed here while the store was read.
      if (!registry.find(key) && !mutex.isHeld(key)) return stored && locationOf(stored, holder)
    }
  }
}

export function locationOf(run: StoredRun, holder: string): StoredLocation {
  return { kind: kindOf(run, holder), run }
}

function kindOf(run: StoredRun, holder: string): StoredLocation['kind'] {
  if (run.endedAt !== undefined) return 'ended'
  if (run.status === 'interrupted') return 'interrupted'
  if (run.status === 'pending' && run.holder === '') return 'unclaimed'
  return run.holder === holder ? 'dropped' : 'remote'
}

export function noRun({ requestId }: RunKey): ServiceError {
  return new ServiceError('not_found', `There is no run ${requestId}.`)
}
