import type { Effects } from '../effects.ts'
import type { Score, Scorer } from '../scorers/scorer.ts'

/** `diverged`: the replay has stopped. `error`: the replay could not run, or its model has failed. */
export type Outcome = 'passed' | 'failed' | 'diverged' | 'error'

/** Figures of the results so far. Cost, tokens, times and means leave out diverged examples. */
export interface VariantFigures {
  done: number
  passed: number
  failed: number
  diverged: number
  errors: number
  /** Examples whose repetitions have other outcomes. */
  flaky: number
  passRate: number | undefined
  /** USD of the models that have answered; undefined where a model has no price. */
  cost: number | undefined
  judgeCost: number | undefined
  tokens: number
  /** Median of the durations, in milliseconds. */
  p50: number | undefined
  scores: { name: string; kind: Scorer['kind']; mean: number; passed: number; failed: number }[]
  effects: EffectCounts
}

export interface EffectCounts {
  same: number
  added: number
  removed: number
  changed: number
}

/** The numbers of one result. */
export interface ResultFigures {
  /** Index of the dataset. */
  dataset: number
  /** USD; absent where the model has no price. */
  cost?: number
  judgeCost?: number
  tokens: number
  durationMs: number
  scores: Pick<Score, 'name' | 'kind' | 'score' | 'passed'>[]
  effects: EffectCounts
  /** True where a call was told that there is no recording, and the replay went on. */
  missed?: boolean
}

/** A stored result, as the figures of an experiment need the result. */
export interface DoneResult {
  /** Index of the variant: 0 for the baseline. */
  variant: number
  example: string
  repetition: number
  outcome: Outcome
  figures: ResultFigures
}

/** The figures of an ended experiment. */
export interface ExperimentSummary {
  done: number
  /** The baseline first. */
  variants: VariantFigures[]
  /** What a gate asks for: the last variant on the first dataset alone. */
  gate: GateFigures
}

export interface GateFigures {
  done: number
  /** Without those that have `missed`. */
  passed: number
  missed: number
  /** The writes that the recordings do not have, also those with other arguments. */
  added: number
}

export const noEffects: EffectCounts = { same: 0, added: 0, removed: 0, changed: 0 }

export function countEffects({ same, added, removed, changed }: Effects): EffectCounts {
  return { same, added: added.length, removed: removed.length, changed: changed.length }
}

/** The writes that the recordings do not have: added ones, and those of a recorded tool with other arguments. */
function newWrites({ added, changed }: EffectCounts): number {
  return added + changed
}

/** Sums up the results so far. */
export function summarize(results: readonly DoneResult[], variants: number): ExperimentSummary {
  const ofVariant = (index: number) => results.filter(({ variant }) => variant === index)
  const last = ofVariant(variants - 1).filter(({ figures }) => figures.dataset === 0)
  return {
    done: results.length,
    variants: Array.from({ length: variants }, (_, index) => toFigures(ofVariant(index))),
    gate: {
      done: last.length,
      passed: last.filter(({ outcome, figures }) => outcome === 'passed' && !figures.missed).length,
      missed: last.filter(({ figures }) => figures.missed).length,
      added: sum(last.map(({ figures }) => newWrites(figures.effects))),
    },
  }
}

/** Passed where the last variant has as many results as are due, and each has passed. */
export function verdictOf({ variants }: ExperimentSummary, due: number): 'passed' | 'failed' {
  const last = variants.at(-1)
  return last !== undefined && last.done > 0 && last.passed >= Math.max(due, last.done) ? 'passed' : 'failed'
}

function toFigures(results: readonly DoneResult[]): VariantFigures {
  const count = (outcome: Outcome) => results.filter((result) => result.outcome === outcome).length
  // A replay that has stopped has cost less, which says nothing about the variant.
  const whole = results.filter(({ outcome }) => outcome !== 'diverged').map(({ figures }) => figures)
  return {
    done: results.length,
    passed: count('passed'),
    failed: count('failed'),
    diverged: count('diverged'),
    errors: count('error'),
    flaky: countFlaky(results),
    passRate: passRateOf(results),
    cost: sumOf(whole.map(({ cost }) => cost)),
    judgeCost: sumOf(whole.flatMap(({ judgeCost }) => judgeCost ?? [])),
    tokens: sum(whole.map(({ tokens }) => tokens)),
    p50: medianOf(whole.map(({ durationMs }) => durationMs)),
    scores: toScores(whole.flatMap(({ scores }) => scores)),
    effects: results.map(({ figures }) => figures.effects).reduce(addEffects, noEffects),
  }
}

function passRateOf(results: readonly DoneResult[]): number | undefined {
  return results.length === 0 ? undefined : results.filter(({ outcome }) => outcome === 'passed').length / results.length
}

/** Examples whose repetitions have other outcomes. */
function countFlaky(results: readonly DoneResult[]): number {
  const outcomes = Map.groupBy(results, ({ example }) => example)
  return [...outcomes.values()].filter((group) => new Set(group.map(({ outcome }) => outcome)).size > 1).length
}

function toScores(scores: ResultFigures['scores']): VariantFigures['scores'] {
  return [...Map.groupBy(scores, ({ name }) => name).values()].map((group) => {
    const { name, kind } = group[0]!
    const passed = group.filter((score) => score.passed).length
    return { name, kind, mean: sum(group.map(({ score }) => score)) / group.length, passed, failed: group.length - passed }
  })
}

/** Undefined without a number, and where a number is missing. */
function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const numbers = values.filter((value) => value !== undefined)
  return numbers.length === 0 || numbers.length < values.length ? undefined : sum(numbers)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function medianOf(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)]
}

function addEffects(a: EffectCounts, b: EffectCounts): EffectCounts {
  return { same: a.same + b.same, added: a.added + b.added, removed: a.removed + b.removed, changed: a.changed + b.changed }
}
