import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'

/** Watches the load of this process. */
export interface LoadWatch {
  /** The reason why the process cannot take more work, in words; undefined otherwise. */
  overload(): string | undefined
  close(): void
}

const sampleEveryMs = 2000
const delayResolutionMs = 100
/** Maximum median delay of the event loop. */
const maxDelayMs = 1000
const maxHeapShare = 0.92
/** Number of consecutive overloaded samples for an overload: a burst, or uncollected garbage, is no overload. */
const overloadedSamples = 2

/** A sample of the load; a fake in tests. */
export interface LoadSigns {
  /** Median delay of the event loop since the last sample. */
  delayMs: number
  /** Used share of the heap limit. */
  heapShare: number
}

export function watchLoad(measure: () => LoadSigns = measureLoad(), everyMs: number = sampleEveryMs): LoadWatch {
  let lastReason: string | undefined
  let samplesInRow = 0
  const sample = (): void => {
    const { delayMs, heapShare } = measure()
    const reason = delayMs > maxDelayMs ? 'it is busy' : heapShare > maxHeapShare ? 'its memory is full' : undefined
    samplesInRow = reason === undefined ? 0 : samplesInRow + 1
    lastReason = reason
  }
  const timer = setInterval(sample, everyMs).unref()
  return {
    overload: () => (samplesInRow >= overloadedSamples ? lastReason : undefined),
    close: () => clearInterval(timer),
  }
}

function measureLoad(): () => LoadSigns {
  const delays = monitorEventLoopDelay({ resolution: delayResolutionMs })
  delays.enable()
  return () => {
    const delayMs = delays.count === 0 ? 0 : delays.percentile(50) / 1e6
    delays.reset()
    const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics()
    return { delayMs, heapShare: used / limit }
  }
}
