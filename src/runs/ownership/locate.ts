import type { Budgets } from '../../budgets/budgets.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { ServiceError } from '../../errors.ts'
import type { RunKey } from '../run.ts'
import type { RunMutex, RunRegistry } from './run-registry.ts'
import type { RunStore, StoredRun } from '../run-store.ts'
import type { LiveRun } from './live-run.ts'
import { replay } from '../log/outcome.ts'
import type { OpenRun } from '../open-run.ts'
import type { Intake } from '../intake/admission.ts'
import type { LiveRuns } from './live-runs.ts'
import type { RemoteRuns } from './remote/remote-runs.ts'
import { reachState } from '../../states.ts'

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

interface FollowDependencies {
  locate: Locate
  agent: CurrentAgent
  budgets: Pick<Budgets, 'look'>
  registry: Pick<RunRegistry, 'waitForChange'>
  live: Pick<LiveRuns, 'join'>
  remote: Pick<RemoteRuns, 'open'>
  intake: Pick<Intake, 'assertOpen'>
}

/** Opens runs of every location for readers. */
export interface Readers {
  /** A run to follow; throws `not_found` when the caller has no run with this key. */
  follow(key: RunKey, disconnected: AbortSignal): Promise<OpenRun>
  /**
   * Opens a run where it was located. Undefined where the run has to be located again: the local process had dropped the run. Throws `cancelled`
   * when the caller has disconnected meanwhile.
   */
  openAt(location: RunLocation, disconnected: AbortSignal): Promise<OpenRun | undefined>
}

export function createReaders({ locate, agent, budgets, registry, live, remote, intake }: FollowDependencies): Readers {
  async function follow(key: RunKey, disconnected: AbortSignal): Promise<OpenRun> {
    for (;;) {
      const location = await locate(key)
      if (!location) throw noRun(key)
      const opened = await openAt(location, disconnected)
      if (opened) return opened
    }
  }

  async function openAt(location: RunLocation, disconnected: AbortSignal): Promise<OpenRun | undefined> {
    switch (location.kind) {
      case 'here':
        return live.join(location.run, disconnected)
      case 'ended':
        return withRemaining(location.run, replay(location.run))
      case 'interrupted':
        return withRemaining(location.run, openInterrupted(location.run))
      case 'remote':
      case 'unclaimed':
        return withRemaining(location.run, openRemote(location.run, disconnected))
      case 'dropped':
        reachState('reader-of-dropped-run')
        await whenNotDropped(location.run, disconnected)
        return undefined
    }
  }

  /** Adds what is left of the budgets of a run to the run. */
  async function withRemaining({ tenant, owner, requestId, session, operation, request }: StoredRun, run: OpenRun): Promise<OpenRun> {
    const current = agent()
    if (!current.config.budgets) return run
    const payer = { tenant, owner, requestId, session, operation, roles: request?.roles }
    const windows = await budgets.look(payer, current)
    return { ...run, remaining: (reader) => windows.remaining(reader) }
  }

  /** An unended run of another process, or of no process yet. */
  function openRemote(run: StoredRun, disconnected: AbortSignal): OpenRun {
    intake.assertOpen()
    reachState('reader-of-remote-run')
    return remote.open(run, disconnected)
  }

  /** The log so far of a run that waits for approval; `whenResumed` waits for the rest. */
  function openInterrupted(run: StoredRun): OpenRun {
    return { ...replay(run), whenResumed: (disconnected) => whenResumed(run, run.fence, disconnected) }
  }

  /** `fence` is that of the interruption: the run has a higher fence once a process has resumed the run. */
  async function whenResumed(key: RunKey, fence: number, disconnected: AbortSignal): Promise<OpenRun> {
    reachState('reader-of-interrupted-run')
    for (;;) {
      const location = await locate(key)
      switch (location?.kind) {
        case 'here':
        case 'interrupted':
          if (location.run.fence > fence) return follow(key, disconnected)
          break
        case 'remote':
        case 'unclaimed':
        case 'dropped':
        case 'ended':
        case undefined:
          return follow(key, disconnected)
      }
      intake.assertOpen()
      await registry.waitForChange(key, resumePollMs, disconnected)
      disconnected.throwIfAborted()
    }
  }

  /**
   * Waits until a run that the local process has dropped is held again, or gone.
   * Only reads, since the sweep leaves out runs that a request is claiming: a repeat that claimed the run again and again would prevent its adoption.
   */
  async function whenNotDropped(key: RunKey, disconnected: AbortSignal): Promise<void> {
    do {
      intake.assertOpen()
      await registry.waitForChange(key, pollMs, disconnected)
      if (disconnected.aborted) throw new ServiceError('cancelled', 'The caller has gone.')
    } while ((await locate(key))?.kind === 'dropped')
  }

  return { follow, openAt }
}

/** Messages on the bus may get lost: a run is located again at this interval. */
const pollMs = 500
/** Interval for interrupted runs, which wait for a person to decide. */
const resumePollMs = 2000
