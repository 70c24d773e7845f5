import { serviceStopping } from '../log/outcome.ts'

/** Admits new work until the service stops, and numbers the work in order of arrival. */
export interface Intake {
  readonly isClosed: boolean
  /** Throws `overloaded` when the service is stopping. */
  assertOpen(): void
  /** Refuses new work from now on. */
  close(): void
  /** The queue order of a run that arrives now: grows with every call, also within a millisecond. */
  nextArrival(): number
}

export function createIntake(now: () => number): Intake {
  let isClosed = false
  let lastArrival = 0
  return {
    get isClosed() {
      return isClosed
    },
    assertOpen() {
      if (isClosed) throw serviceStopping()
    },
    close() {
      isClosed = true
    },
    nextArrival() {
      lastArrival = Math.max(lastArrival + 1, now() * 1000)
      return lastArrival
    },
  }
}
