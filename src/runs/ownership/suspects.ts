import type { LiveRun } from './live-run.ts'
import { maxLosses } from '../log/outcome.ts'
import type { OrphanedRun } from '../run-store.ts'

/** Longest time that a suspect goes on alone without a checkpoint before the next one is taken: as long as a run takes by default. */
const aloneMs = 300_000

/**
 * Wait before suspects are looked for again, where none of them could be taken: a job that was left behind may be opening each of them. Without the
 * wait the search would go round without end, and hold the event loop where the store answers at once, as SQLite does.
 */
const lookAgainMs = 1000

interface SuspectDependencies {
  takeOver(run: OrphanedRun): Promise<LiveRun | undefined>
  /** Looks for the next one. */
  next(): Promise<void>
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/**
 * Suspects are runs that will have lost their process for the last time. One of them may be what their processes died of: the next
 * one is taken when the one before has ended or made a checkpoint, so that a deadly run does not take the others with it.
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

  async function goOnAlone(suspects: readonly OrphanedRun[]): Promise<void> {
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
    /** Takes one of the suspects, unless another is being tried; resolves at once. */
    tryOne(suspects: readonly OrphanedRun[]): void {
      if (isTrying || suspects.length === 0) return
      isTrying = true
      // What fails here fails in the next sweep too, which says so.
      void goOnAlone(suspects).catch(() => undefined)
    },
  }
}

export function isSuspect(run: OrphanedRun): boolean {
  return run.losses?.count === maxLosses - 1
}

export function isHopeless(run: OrphanedRun): boolean {
  return (run.losses?.count ?? 0) >= maxLosses
}
