import { setTimeout as sleep } from 'node:timers/promises'

/** The command line writes beside the service, in single short units: neither waits long. */
export const busyTimeoutMs = 5000

/**
 * Does what needs a lock of a SQLite file that another process may have, again and again until it can. SQLite's own waiting would block
 * the event loop, and look so seldom that a busy writer starves the other.
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

/** Another connection has the lock; the low byte names the error, the rest its kind. */
export function isBusy(error: unknown): boolean {
  const { errcode = 0 } = error as { errcode?: number }
  return (errcode & 0xff) === sqliteBusy
}

const sqliteBusy = 5
