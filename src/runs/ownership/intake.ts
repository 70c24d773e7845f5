import { serviceStopping } from '../log/outcome.ts'

/** Whether this process takes new work, and the order in which new work arrived. */
export interface Intake {
  readonly isClosed: boolean
  /** Throws `overloaded` when the service is stopping. */
  assertOpen(): void
  /** Nothing new is taken from now on. */
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
