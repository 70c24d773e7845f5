import { setTimeout as timer } from 'node:timers/promises'

/** Port: waits `ms` milliseconds; rejects when the signal is aborted. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<unknown>

const defaultSleep: Sleep = (ms, signal) => timer(ms, undefined, { signal })

/**
 * Waits until `work` settles, but at most `ms` milliseconds, and resolves to whether `work` settled in time. Never rejects: a caller
 * that needs the value or the error awaits `work` afterwards.
 */
export async function settlesWithin(work: Promise<unknown>, ms: number, sleep: Sleep = defaultSleep): Promise<boolean> {
  const settled = new AbortController()
  const end = () => settled.abort()
  const done = work.then(end, end)
  await Promise.race([done, sleep(ms, settled.signal).catch(() => undefined)])
  return settled.signal.aborted
}
