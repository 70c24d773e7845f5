import { Registry } from '@prometheus-io/client'

/** The figures of one process, as plain data that can be told to another. */
export type Figures = readonly { name: string; type: string }[]

/** Port: the processes that share this one's port. Who reads figures there reaches any of them, and wants those of all. */
export interface FigureSharing {
  /** How others get this process's. */
  offer(own: () => Promise<Figures>): void
  /** Those of all, this one's among them, and what those counted that are gone. */
  gather(): Promise<Figures[]>
}

export function readFigures(registry: Registry): Promise<Figures> {
  return registry.getMetricsAsJSON()
}

/** As each figure says: sums, means of delays, the greatest of what is the same for all. */
export function mergeFigures(all: readonly Figures[]): Registry {
  return Registry.aggregate(all.map((one) => [...one]))
}

/** What has been counted, of what does not go on counting. */
export function addCounts(all: readonly Figures[]): Promise<Figures> {
  return readFigures(mergeFigures(all.map((one) => one.filter(({ type }) => type === 'counter' || type === 'histogram'))))
}
