import { issuerOf, subOf } from '../../access/owner.ts'
import type { Experiment, ExperimentResult } from '../experiment-store.ts'
import type { ExperimentView, ResultView, TraceEntry, VariantResultView } from '../experiments.ts'
import type { ResultContent } from './content.ts'
import { noEffects, summarize, type DoneResult } from './figures.ts'
import { totalOf } from './spec.ts'

/** `results`: those so far of an experiment that has not ended. */
export function toView(experiment: Experiment, results: readonly DoneResult[]): ExperimentView {
  const { spec, id, status, verdict = 'none', error, createdAt, startedAt, endedAt } = experiment
  const { datasets, repetitions, scorers, tools } = spec
  const summary = experiment.summary ?? summarize(results, spec.variants.length)
  const variants = spec.variants.map(({ kind, version, configHash }, index) => {
    const name = index === 0 ? ('baseline' as const) : ('candidate' as const)
    return { name, kind, version, configHash, ...summary.variants[index]! }
  })
  return {
    id,
    status,
    verdict,
    error,
    createdAt,
    startedAt,
    endedAt,
    createdBy: { issuer: issuerOf(experiment), sub: subOf(experiment) },
    datasets,
    revision: datasets[0]?.revision ?? 0,
    repetitions,
    scorers,
    tools,
    total: totalOf(spec),
    done: summary.done,
    variants,
    effects: variants.at(-1)?.effects ?? noEffects,
  }
}

/** Joins the results of an example and repetition. `recorded`: the calls and replies of the recorded run, with traces. */
export function toResultView(rows: readonly ExperimentResult[], variants: number, recorded?: TraceEntry[]): ResultView {
  const { example, repetition } = rows[0]!
  const { exampleName, datasetId, question, recorded: run } = contentOf(rows[0]!)
  const byVariant = (index: number) => {
    const row = rows.find(({ variant }) => variant === index)
    return row && toVariantView(row)
  }
  const [baseline, candidate] = [byVariant(0), byVariant(1)]
  return {
    exampleId: example,
    exampleName,
    datasetId,
    repetition,
    question,
    recorded: { output: run.output, requestId: run.requestId, ...(recorded && { trace: recorded }) },
    baseline,
    candidate,
    proposedWrites: (variants > 1 ? candidate : baseline)?.proposedWrites ?? [],
  }
}

function toVariantView(row: ExperimentResult): VariantResultView {
  const { outcome, figures, trace } = row
  const { result } = contentOf(row)
  const { cost, tokens, durationMs } = figures
  return { ...result, outcome, cost, tokens, durationMs, ...(trace && { trace: trace as unknown as TraceEntry[] }) }
}

export function contentOf({ content }: ExperimentResult): ResultContent {
  return content as unknown as ResultContent
}
