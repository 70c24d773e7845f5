/**
 * Calls `refresh` soon after data has changed that other processes change too, whether or not their messages arrive. When `refresh`
 * rejects, it is called again. Returns a function to stop.
 */
export type Watch = (refresh: () => Promise<void>) => () => void

/** A watch without knowledge of changes: calls `refresh` at an interval. */
export function watchEvery(intervalMs: number): Watch {
  return (refresh) => {
    const timer = setInterval(() => void refresh().catch(() => undefined), intervalMs).unref()
    return () => clearInterval(timer)
  }
}
