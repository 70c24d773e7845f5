import { ServiceError } from '../../errors.ts'
import { replay } from '../log/outcome.ts'
import type { OpenRun } from '../open-run.ts'
import type { RunKey } from '../run.ts'
import type { StoredRun } from '../run-store.ts'
import type { Intake } from '../intake/admission.ts'
import type { LiveRuns } from './live-runs.ts'
import { noRun, type Locate, type RunLocation, type RunRegistry } from './locate.ts'
import type { RemoteRuns } from './remote/remote-runs.ts'
import { reachState } from '../../states.ts'

interface FollowDependencies {
  locate: Locate
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

export function createReaders({ locate, registry, live, remote, intake }: FollowDependencies): Readers {
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
        return replay(location.run)
      case 'interrupted':
        return openInterrupted(location.run)
      case 'remote':
      case 'unclaimed':
        return openRemote(location.run, disconnected)
      case 'dropped':
        reachState('reader-of-dropped-run')
        await whenNotDropped(location.run, disconnected)
        return undefined
    }
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
