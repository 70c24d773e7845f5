import type { Principal } from '../access/permissions.ts'
import type { JsonValue } from '../agent/messages.ts'
import type { Page } from './dataset-store.ts'
import type { Effects } from './effects.ts'
import type { ExperimentStatus } from './experiment-store.ts'
import type { EffectCounts, Outcome, VariantFigures } from './experiments/figures.ts'
import type { ExperimentDataset, ExperimentTools, Variant } from './experiments/spec.ts'
import type { Divergence } from './replay/watch.ts'
import type { Score, Scorer } from './scorers/scorer.ts'

export type { EffectCounts, ExperimentDataset, ExperimentTools, Outcome, Variant, VariantFigures }

/** An experiment as a caller asks for it. */
export interface ExperimentDraft {
  /** Ids or names, from 1 to 20. */
  datasets: readonly string[]
  /** Default: the version in use. */
  baseline?: Variant | undefined
  candidate?: Variant | undefined
  /** Default: those of the first dataset; without any, that the writes are those of the recording. */
  scorers?: readonly Scorer[] | undefined
  /** From 1 to 10; default: 1. */
  repetitions?: number | undefined
  tools?: Partial<ExperimentTools> | undefined
}

export interface VariantView extends VariantFigures {
  name: 'baseline' | 'candidate'
  kind: Variant['kind']
  /** The recorded version; undefined for other variants. */
  version: string | undefined
  configHash: string | undefined
}

export interface ExperimentView {
  id: string
  status: ExperimentStatus
  verdict: 'passed' | 'failed' | 'none'
  error: string | undefined
  createdAt: number
  startedAt: number | undefined
  endedAt: number | undefined
  createdBy: { issuer: string; sub: string }
  datasets: ExperimentDataset[]
  /** The revision of the first dataset. */
  revision: number
  repetitions: number
  scorers: readonly Scorer[]
  tools: ExperimentTools
  /** Number of results due, and of results stored. */
  total: number
  done: number
  /** The baseline first. */
  variants: VariantView[]
  /** Effects of the last variant. */
  effects: EffectCounts
}

/** An entry of the trace of a replay, or of the recorded run. */
export interface TraceEntry {
  /** The number of the entry, from 1. */
  n: number
  kind: 'reply' | 'call'
  /** The number of the entry of the call in which the agent runs; null for the run's own agent. */
  parent: number | null
  text?: string
  tool?: string
  toolInput?: JsonValue
  output?: JsonValue
  status?: 'success' | 'error' | 'unknown'
  effect?: 'read' | 'write'
  /** True for a call that the recording has answered. */
  recorded?: boolean
}

/** A write that the recording does not have. */
export interface ProposedWrite {
  tool: string
  toolInput: JsonValue
  recorded: false
}

export interface VariantResultView {
  outcome: Outcome
  output: string
  divergence: Divergence | undefined
  proposedWrites: ProposedWrite[]
  effects: Effects
  scores: Score[]
  cost: number | undefined
  tokens: number
  durationMs: number
  requestId: string
  error: string | undefined
  /** Defined for a recorded variant of an example of a run. */
  isEqual: boolean | undefined
  /** Present where a single result is read. */
  trace?: TraceEntry[]
}

/** An example with the results of both variants. */
export interface ResultView {
  exampleId: string
  exampleName: string
  datasetId: string
  repetition: number
  question: string
  /** `requestId`: that of the recorded run; undefined for an example that is written by hand. */
  recorded: { output: string; requestId: string | undefined; trace?: TraceEntry[] }
  /** Undefined: there is no such variant, or no result yet. */
  baseline: VariantResultView | undefined
  candidate: VariantResultView | undefined
  /** Those of the last variant. */
  proposedWrites: ProposedWrite[]
}

export interface ResultsPage {
  limit: number
  /** Number of examples and repetitions before the page. */
  offset: number
  /** The outcome of the last variant. */
  outcome?: Outcome | undefined
}

/** Experiments of the caller's tenant. Throws `not_found` for those of another tenant, as for unknown ones. */
export interface Experiments {
  /**
   * Accepts an experiment. A known request id of the caller returns the experiment of the request; with another body, throws `request_id_reused`.
   * Throws `validation` with the places of the faults, `forbidden` for a change that the caller may not make, and `not_found` for an unknown version.
   */
  create(caller: Principal, draft: ExperimentDraft, request: { requestId: string; bodyHash: string }): Promise<ExperimentView>
  /** Newest first. */
  list(caller: Principal, page: Page): Promise<ExperimentView[]>
  find(caller: Principal, id: string): Promise<ExperimentView>
  /** In order of examples and repetitions. A page with long results ends before its limit. */
  results(caller: Principal, id: string, page: ResultsPage): Promise<{ results: ResultView[]; hasMore: boolean }>
  /** One result with its traces. Throws `not_found` where no variant has one. */
  result(caller: Principal, id: string, example: string, repetition: number): Promise<ResultView>
  /** Cancels an experiment that has not ended. Removes an ended one, and returns undefined. */
  remove(caller: Principal, id: string): Promise<ExperimentView | undefined>
}
