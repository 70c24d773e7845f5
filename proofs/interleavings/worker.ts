import { parentPort, workerData } from 'node:worker_threads'
import { explore, type Exploration, type ExploreOptions } from './explore.ts'

/** The share of a thread. Each batch has a seed of its own. */
export interface Share {
  /** The seeds of the batches. */
  seeds: number[]
  schedulesPerBatch: number
  budgets: NonNullable<ExploreOptions['budgets']>
}

/** The result of one batch. */
export type Batch = Exploration & { seed: number }

const { seeds, schedulesPerBatch, budgets } = workerData as Share

for (const seed of seeds) {
  const exploration = await explore({ schedules: schedulesPerBatch, seed, budgets })
  parentPort!.postMessage({ ...exploration, seed } satisfies Batch)
  if (exploration.counterexample) break
}
