import { isDeepStrictEqual } from 'node:util'
import { createGate, type FindEvidence, type Gate, type GateExperiment } from '../configuration/change/gate.ts'
import type { ListedDataset } from '../evals/dataset.ts'
import type { Experiment } from '../evals/experiment-store.ts'
import { resultsDue } from '../evals/experiments/spec.ts'
import type { Scorer } from '../evals/scorers/scorer.ts'
import { scorersOf } from '../evals/scorers/check-scorers.ts'
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
    return { examples: dataset.examples, experiment: experiment && toGateExperiment(experiment, dataset) }
  }
}

/** False where the first variant, whose model judges, is a change that nobody has let in. */
function hasJudgeOfRecord({ variants: [judging] }: Experiment['spec']): boolean {
  return judging?.kind === 'version' || judging?.kind === 'recorded'
}

/** Measures an experiment by its dataset of today, so that a dataset that was smaller or asked for less in between opens no gate. */
function toGateExperiment({ id, spec, summary, endedAt = 0 }: Experiment, { examples, scorers }: ListedDataset): GateExperiment {
  const { done = 0, passed = 0, missed = 0, added = 0 } = summary?.gate ?? {}
  const due = Math.max(examples, spec.datasets[0]?.examples ?? 0) * spec.repetitions
  const isMeasured = (scorer: Scorer) =>
    spec.scorers.some((used) => isDeepStrictEqual(used, scorer)) && (scorer.kind !== 'judge' || hasJudgeOfRecord(spec))
  const lacksScorers = !scorersOf(scorers).every(isMeasured)
  const passRate = due === 0 ? undefined : passed / Math.max(due, done)
  const missing = resultsDue(spec.datasets[0]!, spec.repetitions) - done
  return { id, missing, passRate, added, untried: Math.max(due - done, 0), missed, lacksScorers, endedAt }
}
