import type { Principal } from '../access/permissions.ts'
import type { JsonValue } from '../agent/messages.ts'
import type { ConfigData } from '../configuration/change/merge.ts'
import type { Page } from './dataset-store.ts'
import type { Effects } from './effects.ts'
import type { ExperimentResult, ExperimentStatus } from './experiment-store.ts'
import type { OnMiss } from './replay/answers.ts'
import type { Divergence } from './replay/watch.ts'
import type { Score, Scorer } from './scorers/scorer.ts'

/** The agent that answers the questions of an experiment. */
export type Variant =
  /** A recorded version of the configuration. */
  | { kind: 'version'; version: string }
  /** A merge patch on a version; default: the configuration in use. */
  | { kind: 'patch'; patch: ConfigData; base?: string }
  /** A whole agent.yaml. */
  | { kind: 'text'; text: string }
  /** The replies of the models come from the recording too. */
  | { kind: 'recorded' }

export interface ExperimentTools {
  onMiss: OnMiss
  /** Names of tools that may read for `onMiss: live`. */
  live: readonly string[]
}

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

/** A dataset as an experiment has frozen the dataset. */
export interface ExperimentDataset {
  id: string
  name: string
  revision: number
  /** Number of examples. */
  examples: number
}

/** Figures of the results so far. Cost, tokens, times and means leave out diverged examples. */
export interface VariantView {
  name: 'baseline' | 'candidate'
  kind: Variant['kind']
  /** The recorded version; undefined for other variants. */
  version: string | undefined
  configHash: string | undefined
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
  outcome: ExperimentResult['outcome']
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
  outcome?: ExperimentResult['outcome'] | undefined
}

/** Experiments of the caller's tenant. Throws `not_found` for those of another tenant, as for unknown ones. */
export interface Experiments {
  /**
   * Accepts an experiment. A known request id of the caller returns the experiment of the request; with another body, throws `request_id_conflict`.
   * Throws `validation` with the places of the faults, `forbidden` for a change that the caller may not make, and `not_found` for an unknown version.
   */
  create(caller: Principal, draft: ExperimentDraft, request: { requestId: string; bodyHash: string }): Promise<ExperimentView>
  /** Newest first. */
  list(caller: Principal, page: Page): Promise<ExperimentView[]>
  find(caller: Principal, id: string): Promise<ExperimentView>
  /** In order of examples and repetitions. */
  results(caller: Principal, id: string, page: ResultsPage): Promise<ResultView[]>
  /** One result with its traces. Throws `not_found` where no variant has one. */
  result(caller: Principal, id: string, example: string, repetition: number): Promise<ResultView>
  /** Cancels an experiment that has not ended. Removes an ended one, and returns undefined. */
  remove(caller: Principal, id: string): Promise<ExperimentView | undefined>
}
