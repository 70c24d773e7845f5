import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Keeps the space of new objects small until the returned function is called. V8 doubles the space for whatever a start keeps, up to 16 MB,
 * and never returns these pages to the system: 10 MB of an idle service. A small space is collected in a millisecond, for which other threads
 * only cost time. Under load the space grows as ever. The end of the start is the time to return what the start alone has used, and to optimize
 * what is called often as ever (bin/agent-core.mjs).
 */
export function keepStartSmall(): () => void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--no-parallel-scavenge')
  return () => {
    setFlagsFromString('--semi-space-growth-factor=2')
    setFlagsFromString('--parallel-scavenge')
    setFlagsFromString('--invocation-count-for-turbofan=3000')
    collectOnceIdle()
  }
}

/** Share of a period that the event loop of an idle service works at most. */
const maxUtilization = 0.1

/**
 * Collects garbage after the first period in which the process had nothing to do: a running chat is never stopped for it. V8 keeps the code
 * and the pages of a start until the heap grows. A collection "as a last resort" returns 5 MB of an idle service for 60 ms, once.
 */
export function collectOnceIdle(periodMs = 1000, collect = collectAll): void {
  let before = performance.eventLoopUtilization()
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    if (utilization > maxUtilization) return
    clearInterval(timer)
    collect()
  }, periodMs).unref()
}

function collectAll(): void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as NodeJS.GCFunction
  setFlagsFromString('--no-expose-gc')
  gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
