import type { Artifacts } from '../artifacts/artifacts.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import { createDatasets, type Datasets, type DatasetsDependencies } from '../evals/datasets.ts'
import { readRecordedRun } from '../evals/from-run.ts'
import type { ApprovalStore } from '../runs/approvals/approval-store.ts'
import type { RunStore } from '../runs/run-store.ts'
import { createFindRunKey } from '../runs/run-view.ts'
import type { Database } from '../store/database.ts'
import { createDatasetStore } from '../store/evals/datasets.ts'

interface EvalsOptions {
  database: Database
  agent: CurrentAgent
  store: RunStore
  openCalls: ApprovalStore
  schemas: DatasetsDependencies['schemas']
  artifacts: Pick<Artifacts, 'read'>
  now(): number
  newId(): string
}

/** Wires datasets. */
export function openEvals({ database, agent, store, openCalls, artifacts, schemas, now, newId }: EvalsOptions): { datasets: Datasets } {
  return {
    datasets: createDatasets({
      store: createDatasetStore(database),
      findRun: createFindRunKey(store),
      readRun: (key) => readRecordedRun(key, { store, approvals: openCalls }),
      schemas,
      media: { images: store.images, mediaBytes: store.mediaBytes, readArtifact: artifacts.read },
      config: () => agent().config.evals,
      now,
      newId,
    }),
  }
}
