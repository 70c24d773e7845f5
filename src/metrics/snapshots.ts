import { Registry } from '@prometheus-io/client'

/** The figures of one process, as plain data that can be told to another. */
export type MetricsSnapshot = readonly { name: string; type: string }[]

/** Port: the processes that share this one's port. Who reads figures there reaches any of them, and wants those of all. */
export interface MetricsSharing {
  /** How others get this process's. */
  provide(own: () => Promise<MetricsSnapshot>): void
  /** Those of all, this one's among them, and what those counted that are gone. */
  gather(): Promise<MetricsSnapshot[]>
}

export function readSnapshot(registry: Registry): Promise<MetricsSnapshot> {
  return registry.getMetricsAsJSON()
}

/** As each figure says: sums, means of delays, the greatest of what is the same for all. */
export function mergeSnapshots(all: readonly MetricsSnapshot[]): Registry {
  return Registry.aggregate(all.map((one) => [...one]))
}

/** What has been counted, of what does not go on counting. */
export function sumCounters(all: readonly MetricsSnapshot[]): Promise<MetricsSnapshot> {
  return readSnapshot(mergeSnapshots(all.map((one) => one.filter(({ type }) => type === 'counter' || type === 'histogram'))))
}
