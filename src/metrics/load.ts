import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'

/** Looks at how this process bears its load. */
export interface LoadWatch {
  /** Why it can't take more, in words; undefined when it can. */
  overload(): string | undefined
  close(): void
}

const sampleEveryMs = 2000
const delayResolutionMs = 100
/** Half of the turns of the event loop took longer than this. */
const maxDelayMs = 1000
const maxHeapShare = 0.92
/** A burst, or garbage that nobody has collected yet, is no strain: it has to be seen so often in a row. */
const overloadedSamples = 2

/** What one look sees; a fake in tests. */
export interface LoadSigns {
  /** Median delay of the event loop since the last look. */
  delayMs: number
  /** Share of the heap's limit that is used. */
  heapShare: number
}

export function watchLoad(measure: () => LoadSigns = measureLoad(), everyMs: number = sampleEveryMs): LoadWatch {
  let seen: string | undefined
  let timesSeen = 0
  const look = (): void => {
    const { delayMs, heapShare } = measure()
    const reason = delayMs > maxDelayMs ? 'it is busy' : heapShare > maxHeapShare ? 'its memory is full' : undefined
    timesSeen = reason === undefined ? 0 : timesSeen + 1
    seen = reason
  }
  const timer = setInterval(look, everyMs).unref()
  return {
    overload: () => (timesSeen >= overloadedSamples ? seen : undefined),
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
