import type { Owner } from '../../access/owner.ts'
import { settlesWithin } from '../../concurrency/settles-within.ts'
import { ServiceError } from '../../errors.ts'
import type { Bus } from '../../replicas/bus.ts'
import type { InterruptedRuns } from '../approvals/interrupted-runs.ts'
import type { RunKey } from '../run.ts'
import type { RunStore } from '../run-store.ts'
import type { Adoption } from './adopt.ts'
import type { AsyncRuns } from './async-runs.ts'
import { type LiveRun, stopSuperseded } from './live-run.ts'
import { noRun, type Locate, type StoredLocation } from './locate.ts'
import type { RunMutex, RunRegistry } from './run-registry.ts'
import { reachState } from '../../states.ts'

interface CancelDependencies {
  store: Pick<RunStore, 'find' | 'unendedIn'>
  locate: Locate
  registry: RunRegistry
  mutex: Pick<RunMutex, 'run'>
  adoption: Pick<Adoption, 'takeOver'>
  asyncRuns: Pick<AsyncRuns, 'cancel'>
  interrupted: Pick<InterruptedRuns, 'cancel'>
  bus: Bus
  now(): number
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export interface Cancellation {
  /** Cancels at once, including tools and the model's socket, and resolves when the end is stored. */
  cancel(key: RunKey): Promise<void>
  /** Cancels the running and queued runs of a session in every process, and waits a few seconds at most until the runs have ended. */
  cancelSession(owner: Owner, sessionId: string): Promise<void>
  /** Stops the runs of a session that was deleted. */
  stopDeleted(owner: Owner, sessionId: string): Promise<void>
}

export function createCancellation(dependencies: CancelDependencies): Cancellation {
  const { store, locate, registry, asyncRuns, interrupted, bus, now, sleep } = dependencies

  bus.subscribe('deleted', (session) => void stopHere(session, session.sessionId))

  async function cancel(key: RunKey): Promise<void> {
    let isRequested = false
    const deadline = now() + maxCancelMs
    for (let isLastLook = false; !isLastLook;) {
      // The end of a run may take long: the store is asked once more after the deadline.
      isLastLook = now() >= deadline
      const location = await locate(key)
      switch (location?.kind) {
        case undefined:
          throw noRun(key)
        case 'here':
          reachState('cancel-here')
          isRequested = (await stopLive(location.run, registry)) || isRequested
          break
        case 'ended':
          // A run that ended because its client left may be continued by a repeat: such an end is no cancellation.
          if (isRequested && location.run.status === 'cancelled' && !location.run.continuable) return
          reachState('cancel-too-late')
          throw new ServiceError('run_ended', `Run ${key.requestId} has ended.`)
        case 'interrupted':
          if (await interrupted.cancel(location.run)) return
          break
        case 'unclaimed':
          if (await asyncRuns.cancel(location.run)) return
          break
        case 'dropped':
        case 'remote':
          isRequested = true
          reachState('cancel-remote')
          if (!(await claim(location, dependencies))) await askHolders([key], dependencies)
      }
    }
    throw new ServiceError('overloaded', `Run ${key.requestId} belongs to another process.`, { retryAfter: 5 })
  }

  async function cancelSession(owner: Owner, sessionId: string): Promise<void> {
    const runs = registry.ofSession(owner, sessionId)
    if (runs.length > 0) reachState('session-deleted-midway')
    for (const run of runs) run.stop('cancelled')
    const done = new AbortController()
    const ends = Promise.all([...runs.map((run) => run.ended), cancelRemote(owner, sessionId, done.signal)])
    const isInTime = await settlesWithin(ends, maxEndMs, sleep)
    done.abort()
    if (isInTime) await ends
  }

  async function cancelRemote(owner: Owner, sessionId: string, done: AbortSignal): Promise<void> {
    while (!done.aborted) {
      const remote = (await store.unendedIn(owner, sessionId)).filter((key) => !registry.find(key))
      if (remote.length === 0) return
      await askHolders(remote, dependencies, done)
    }
  }

  async function stopDeleted({ tenant, owner }: Owner, sessionId: string): Promise<void> {
    bus.publish('deleted', { tenant, owner, sessionId })
    await stopHere({ tenant, owner }, sessionId)
  }

  function stopHere(owner: Owner, sessionId: string): Promise<void> {
    return stopSuperseded(store, registry.ofSession(owner, sessionId))
  }

  return { cancel, cancelSession, stopDeleted }
}

/** True when the cancellation stopped the run. Another end may have been on its way already: the store has the final status. */
async function stopLive(run: LiveRun, registry: RunRegistry): Promise<boolean> {
  run.stop('cancelled')
  await run.ended
  // The end is not stored yet.
  if (registry.find(run.key) === run) await registry.waitForChange(run.key, pollMs)
  return run.stopCause === 'cancelled'
}

/** Undefined where another process holds the run and is alive. */
function claim({ kind, run }: StoredLocation, { registry, mutex, adoption }: CancelDependencies): Promise<LiveRun | undefined> {
  const from = kind === 'dropped' ? run : { ...run, graceMs: 0 }
  return mutex.run(run, async () => {
    const live = registry.find(run)
    if (live) return live
    const taken = await adoption.takeOver(run, { from })
    if (taken) reachState('cancel-of-lost-process')
    return taken
  })
}

/** Asks the holders of the runs for a cancellation, and waits for changes, `pollMs` at most. */
async function askHolders(keys: readonly RunKey[], { registry, bus }: CancelDependencies, signal?: AbortSignal): Promise<void> {
  const changes = keys.map((key) => registry.waitForChange(key, pollMs, signal))
  for (const { tenant, owner, requestId } of keys) bus.publish('cancel', { tenant, owner, requestId })
  await Promise.all(changes)
}

/** Messages on the bus may get lost: the store is asked at this interval. */
const pollMs = 500
/** Longer than the lease of a process that was killed. */
const maxCancelMs = 20_000
/** A cancelled run stops at once; a tool that ignores the abort is abandoned after this time. */
const maxEndMs = 5000
