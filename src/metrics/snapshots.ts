import { Registry } from '@prometheus-io/client'

/** The metrics of one process as plain data, which can be sent to another process. */
export type MetricsSnapshot = readonly { name: string; type: string }[]

/**
 * Port: shares metrics between the processes behind one port. A scrape reaches any of the processes but must return the
 * metrics of all.
 */
export interface MetricsSharing {
  /** Registers the function that reads the metrics of the current process. */
  provide(read: () => Promise<MetricsSnapshot>): void
  /** Metrics summed over all workers, including the current worker and exited workers. */
  gather(): Promise<MetricsSnapshot[]>
}

export function readSnapshot(registry: Registry): Promise<MetricsSnapshot> {
  return registry.getMetricsAsJSON()
}

/** Merges snapshots by each metric's aggregator: sums, means of delays, or the maximum of shared values. */
export function mergeSnapshots(all: readonly MetricsSnapshot[]): Registry {
  return Registry.aggregate(all.map((snapshot) => [...snapshot]))
}

/** Sums the counters and histograms of exited processes; gauges are dropped. */
export function sumCounters(all: readonly MetricsSnapshot[]): Promise<MetricsSnapshot> {
  return readSnapshot(mergeSnapshots(all.map((snapshot) => snapshot.filter(({ type }) => type === 'counter' || type === 'histogram'))))
}
