import { performance } from 'node:perf_hooks'

/** Minimum interval between samples of the event loop's utilization, in milliseconds. */
const sampleMs = 20
const busyUtilization = 0.9

/** Returns a function that tells whether the event loop is saturated. Then a short delay costs nothing, and grouped work saves time. */
export function createLoopLoad(): () => boolean {
  let sampledAt = performance.now()
  let before = performance.eventLoopUtilization()
  let isBusy = false
  return () => {
    const now = performance.now()
    if (now - sampledAt >= sampleMs) {
      const current = performance.eventLoopUtilization()
      isBusy = performance.eventLoopUtilization(current, before).utilization >= busyUtilization
      before = current
      sampledAt = now
    }
    return isBusy
  }
}
