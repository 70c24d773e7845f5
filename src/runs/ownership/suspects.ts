import type { LiveRun } from './live-run.ts'
import { maxLosses } from '../log/outcome.ts'
import type { OrphanedRun } from '../run-store.ts'
import { reachState } from '../../states.ts'

/** Longest time in which a suspect runs alone without a checkpoint before the next suspect is taken: the default execution time of a run. */
const aloneMs = 300_000

/**
 * Pause before the next look where no suspect could be taken: an outdated job may be claiming each of them. Without the pause the search would
 * never end and would block the event loop where the store answers at once, as SQLite does.
 */
const lookAgainMs = 1000

interface SuspectDependencies {
  takeOver(run: OrphanedRun): Promise<LiveRun | undefined>
  /** Looks for the next suspect. */
  next(): Promise<void>
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/**
 * A suspect is a run that ends for good with the next loss of its process. A suspect may be the cause of the deaths. Suspects run one at a
 * time: the next suspect is taken when the current suspect has ended or stored a checkpoint, so that a deadly run does not take others along.
 */
export function createSuspects({ takeOver, next, sleep }: SuspectDependencies) {
  let isTrying = false

  async function takeFirst(suspects: readonly OrphanedRun[]): Promise<LiveRun | undefined> {
    for (const suspect of suspects) {
      const run = await takeOver(suspect)
      if (run) return run
    }
    return undefined
  }

  async function runAlone(suspects: readonly OrphanedRun[]): Promise<void> {
    const done = new AbortController()
    try {
      const run = await takeFirst(suspects)
      await (run ? Promise.race([run.ended, run.progressed, sleep(aloneMs, done.signal)]) : sleep(lookAgainMs))
    } finally {
      done.abort()
      isTrying = false
    }
    await next()
  }

  return {
    /** Starts to take one of the suspects, unless another suspect is being tried. */
    tryOne(suspects: readonly OrphanedRun[]): void {
      if (isTrying || suspects.length === 0) return
      isTrying = true
      reachState('suspect-tried')
      // The same failure ends the next sweep, which reports the failure.
      void runAlone(suspects).catch(() => undefined)
    },
  }
}

export function isSuspect(run: OrphanedRun): boolean {
  return run.losses?.count === maxLosses - 1
}

export function isHopeless(run: OrphanedRun): boolean {
  return (run.losses?.count ?? 0) >= maxLosses
}
