import type { Acting } from '../../audit/acts.ts'
import type { Experiment, ExperimentEnd, ExperimentStore } from '../experiment-store.ts'
import { summarize, verdictOf } from './figures.ts'
import { totalOf } from './spec.ts'

interface EndPorts {
  store: Pick<ExperimentStore, 'done' | 'end'>
  now(): number
}

/** Ends an experiment with the figures of its results so far. `by`: the caller who cancels the experiment. False where the experiment has ended before. */
export async function endExperiment(
  { tenant, id, spec }: Experiment,
  { status, error, by }: Pick<ExperimentEnd, 'status' | 'error'> & { by?: Acting },
  { store, now }: EndPorts,
): Promise<boolean> {
  const summary = summarize(await store.done(tenant, id), spec.variants.length)
  const verdict = status === 'completed' ? verdictOf(summary, totalOf({ ...spec, variants: spec.variants.slice(-1) })) : 'none'
  return store.end(tenant, id, { status, verdict, summary, now: now(), ...(error !== undefined && { error }) }, by)
}
