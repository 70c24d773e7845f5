import { performance } from 'node:perf_hooks'

/** How often the event loop's load is looked at. */
const lookEveryMs = 20
const busyFrom = 0.9

/** Says whether the event loop had hardly a moment's rest lately: then waiting a little costs nobody, and work done together saves. */
export function createLoopLoad(): () => boolean {
  let lookedAt = performance.now()
  let before = performance.eventLoopUtilization()
  let isBusy = false
  return () => {
    const now = performance.now()
    if (now - lookedAt >= lookEveryMs) {
      const current = performance.eventLoopUtilization()
      isBusy = performance.eventLoopUtilization(current, before).utilization >= busyFrom
      before = current
      lookedAt = now
    }
    return isBusy
  }
}
