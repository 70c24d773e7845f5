import { setTimeout as sleep } from 'node:timers/promises'

/** Time limit in milliseconds for a lock. The command line writes while the service runs, in short units, so waits are short. */
export const busyTimeoutMs = 5000

/**
 * Repeats `work` until the lock of a SQLite file is free. The busy timeout of SQLite would block the event loop, and polls so rarely that a
 * busy writer starves another process.
 */
export async function retryBusy<T>(work: () => T, limitMs = busyTimeoutMs): Promise<T> {
  const until = performance.now() + limitMs
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || performance.now() >= until) throw error
    }
    await sleep(pauseMs)
  }
}

const pauseMs = 1

/** True when another connection has the lock. The low byte of `errcode` is the primary result code of SQLite. */
export function isBusy(error: unknown): boolean {
  const { errcode = 0 } = error as { errcode?: number }
  return (errcode & 0xff) === sqliteBusy
}

const sqliteBusy = 5
