import { createGate, type FindEvidence, type Gate, type GateExperiment } from '../configuration/change/gate.ts'
import type { Experiment } from '../evals/experiment-store.ts'
import type { Database } from '../store/database.ts'
import { createDatasetStore } from '../store/evals/datasets.ts'
import { createExperimentStore } from '../store/evals/experiments.ts'

interface GateOptions {
  adminTenant: string
  now(): number
}

/** The gate of configurations, which reads the experiments of the administrators' tenant. */
export function openGate(database: Database, { adminTenant, now }: GateOptions): Gate {
  return createGate({ find: createFindEvidence(database, adminTenant), now })
}

export function createFindEvidence(database: Database, tenant: string): FindEvidence {
  const datasets = createDatasetStore(database)
  const experiments = createExperimentStore(database)
  return async (name, configHash) => {
    const dataset = await datasets.find(tenant, name)
    if (!dataset) return undefined
    const experiment = await experiments.completed(tenant, { dataset: dataset.id, configHash, since: 0 })
    return { examples: dataset.examples, experiment: experiment && toGateExperiment(experiment) }
  }
}

function toGateExperiment({ id, summary, endedAt = 0 }: Experiment): GateExperiment {
  return { id, passRate: summary?.gate.passRate, added: summary?.gate.added ?? 0, endedAt }
}
