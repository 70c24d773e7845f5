import type { Principal } from '../../access/permissions.ts'
import { ServiceError } from '../../errors.ts'
import type { DatasetStore } from '../dataset-store.ts'
import type { Experiment, ExperimentResult, ExperimentStore } from '../experiment-store.ts'
import type { Experiments, ExperimentView, TraceEntry } from '../experiments.ts'
import { boundTrace } from './content.ts'
import { endExperiment } from './end.ts'
import { fromStored } from './examples.ts'
import { toTrace } from './trace.ts'
import { contentOf, toResultView, toView } from './views.ts'

export interface ReadDependencies {
  store: Pick<ExperimentStore, 'list' | 'find' | 'done' | 'results' | 'resultsOf' | 'end' | 'remove'>
  datasets: Pick<DatasetStore, 'example'>
  now(): number
}

/** An experiment as shown now. */
export async function viewNow(experiment: Experiment, { store }: { store: Pick<ExperimentStore, 'done'> }): Promise<ExperimentView> {
  return toView(experiment, experiment.summary ? [] : await store.done(experiment.tenant, experiment.id))
}

export function createReads(dependencies: ReadDependencies): Omit<Experiments, 'create'> {
  const { store } = dependencies

  async function find({ tenant }: Principal, id: string): Promise<Experiment> {
    const experiment = await store.find(tenant, id)
    if (!experiment) throw noExperiment(id)
    return experiment
  }

  return {
    async list({ tenant }, page) {
      return Promise.all((await store.list(tenant, page)).map((experiment) => viewNow(experiment, dependencies)))
    },

    find: async (caller, id) => viewNow(await find(caller, id), dependencies),

    async results(caller, id, { limit, offset, outcome }) {
      const { tenant, spec } = await find(caller, id)
      const last = spec.variants.length - 1
      const { results, hasMore } = await store.results(tenant, id, {
        limit,
        offset,
        ...(outcome && { having: { variant: last, outcome } }),
      })
      const groups = Map.groupBy(results, ({ example, repetition }) => `${example} ${repetition}`)
      return { results: [...groups.values()].map((group) => toResultView(group, spec.variants.length)), hasMore }
    },

    async result(caller, id, example, repetition) {
      const experiment = await find(caller, id)
      const rows = await store.resultsOf(experiment.tenant, id, { example, repetition })
      const [row] = rows
      if (!row) throw new ServiceError('not_found', `The experiment has no result of the example ${example}.`)
      return toResultView(rows, experiment.spec.variants.length, await recordedTrace(experiment, row, dependencies))
    },

    async remove(caller, id) {
      const experiment = await find(caller, id)
      if (await store.remove(caller.tenant, id, caller)) return undefined
      await endExperiment(experiment, { status: 'cancelled', by: caller }, dependencies)
      return viewNow(await find(caller, id), dependencies)
    },
  }
}

/** The calls and replies of the recorded run; undefined for a deleted example. */
async function recordedTrace(
  { tenant, spec }: Experiment,
  result: ExperimentResult,
  { datasets }: ReadDependencies,
): Promise<TraceEntry[] | undefined> {
  const { datasetId } = contentOf(result)
  const revision = spec.datasets.find(({ id }) => id === datasetId)?.revision
  const stored = await datasets.example(tenant, datasetId, result.example, revision)
  if (!stored) return undefined
  const { recording: calls, model_replies: replies } = fromStored(stored)
  return boundTrace(toTrace({ calls, replies }))
}

function noExperiment(id: string): ServiceError {
  return new ServiceError('not_found', `There is no experiment ${id}.`)
}
