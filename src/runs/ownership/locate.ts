import { ServiceError } from '../../errors.ts'
import type { RunKey } from '../run.ts'
import type { RunStore, StoredRun } from '../run-store.ts'
import type { LiveRun } from './live-run.ts'
import type { RunMutex, RunRegistry } from './registry.ts'

/** The holder of a run decides how the run is resumed, ended and read. */
export type RunLocation = HereRun | StoredLocation

/** The run is in the memory of the local process. */
interface HereRun {
  kind: 'here'
  run: LiveRun
}

/** The run is not in the memory of the local process. */
export interface StoredLocation {
  kind: StoredKind
  run: StoredRun
}

/**
 * - `remote`: another process holds the run. Its lease may have run out.
 * - `dropped`: the local process holds the run in the store, but not in memory. An internal error dropped the run, or the run has just ended.
 * - `unclaimed`: an accepted async run, before a process claims the run.
 * - `interrupted`: the run waits for approval. No process holds the run.
 * - `ended`: the run has ended. A `continuable` run is resumed by a repeat of the request.
 */
type StoredKind = 'remote' | 'dropped' | 'unclaimed' | 'interrupted' | 'ended'

interface LocateDependencies {
  store: Pick<RunStore, 'find'>
  registry: Pick<RunRegistry, 'find'>
  mutex: Pick<RunMutex, 'isHeld' | 'whenFree'>
  /** Id of the local process. */
  holder: string
}

/** Undefined where the caller has no run with this key. Throws `gone` for a run whose session was deleted. */
export type Locate = (key: RunKey) => Promise<RunLocation | undefined>

/** Every decision about the holder of a run is made here. Waits while the local process is claiming the run. */
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

function kindOf(run: StoredRun, holder: string): StoredKind {
  if (run.endedAt !== undefined) return 'ended'
  if (run.status === 'interrupted') return 'interrupted'
  if (run.status === 'pending' && run.holder === '') return 'unclaimed'
  return run.holder === holder ? 'dropped' : 'remote'
}

export function noRun({ requestId }: RunKey): ServiceError {
  return new ServiceError('not_found', `There is no run ${requestId}.`)
}
