import type { RetryOptions } from '../retry.ts'
import type { Transport } from '../transport.ts'
import { createDatasets, type Datasets } from './datasets.ts'
import { createExperiments, type Experiments } from './experiments.ts'

/** Tries changes of the agent on what the agent was asked before. */
export interface Evals {
  datasets: Datasets
  experiments: Experiments
}

export function createEvals(transport: Transport, defaults: RetryOptions): Evals {
  return { datasets: createDatasets(transport), experiments: createExperiments(transport, defaults) }
}
