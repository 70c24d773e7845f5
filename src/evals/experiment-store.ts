import type { Owner } from '../access/owner.ts'
import type { Acting } from '../audit/acts.ts'
import type { JsonObject, JsonValue } from '../agent/messages.ts'
import type { Page } from './dataset-store.ts'
import type { ExperimentSpec } from './experiments/spec.ts'
import type { DoneResult, ExperimentSummary, Outcome, ResultFigures } from './experiments/figures.ts'

export type ExperimentStatus = 'pending' | 'running' | 'completed' | 'cancelled' | 'failed'

/** A dataset, replayed with one or two variants of the agent. */
export interface Experiment extends Owner {
  /** UUIDv7. */
  id: string
  requestId: string
  bodyHash: string
  spec: ExperimentSpec
  status: ExperimentStatus
  /** Id of the dataset that a gate asks for: the first of the experiment. */
  dataset: string
  /** Hash of the last variant's configuration; undefined for a recorded variant. */
  configHash: string | undefined
  verdict: 'passed' | 'failed' | 'none' | undefined
  /** Present when the experiment has ended. */
  summary: ExperimentSummary | undefined
  error: string | undefined
  createdAt: number
  startedAt: number | undefined
  endedAt: number | undefined
}

export type NewExperiment = Pick<
  Experiment,
  'tenant' | 'owner' | 'id' | 'requestId' | 'bodyHash' | 'spec' | 'dataset' | 'configHash' | 'createdAt'
> & {
  /** The configurations of the variants, encrypted where stored configurations are. Deleted at the end. */
  configurations: string
}

/** Names one replay of an experiment. */
export interface ResultKey {
  /** Index of the variant: 0 for the baseline. */
  variant: number
  /** Id of the example. */
  example: string
  /** From 1. */
  repetition: number
}

export interface ExperimentResult extends ResultKey {
  outcome: Outcome
  figures: ResultFigures
  /** Key of the session that takes the result with it when deleted; undefined: none does. */
  session: string | undefined
  content: JsonObject
  /** Calls and replies, in order. Left out of lists. */
  trace?: JsonValue[]
  createdAt: number
}

/** A page of examples and repetitions, with the results of all variants. */
export interface ResultsQuery {
  limit: number
  offset: number
  /** The outcome of a variant. */
  having?: { variant: number; outcome: Outcome }
}

export interface ExperimentEnd {
  status: 'completed' | 'failed' | 'cancelled'
  verdict: 'passed' | 'failed' | 'none'
  summary?: ExperimentSummary
  error?: string
  now: number
}

/** Asks for an experiment whose last variant has a configuration. */
export interface CompletedQuery {
  /** Id of the dataset. */
  dataset: string
  configHash: string
  /** Ended at this time or later, in epoch milliseconds. */
  since: number
}

/** Port: experiments and results. Each function is one transaction, durable when the promise resolves. */
export interface ExperimentStore {
  /** Stores an experiment with the job that replays it. A known request id changes nothing and returns the experiment that has it. */
  insert(experiment: NewExperiment, acting?: Acting): Promise<{ known: Experiment } | undefined>
  /** The experiment that a request of the owner has made. */
  findCreated(owner: Owner, requestId: string): Promise<Experiment | undefined>
  find(tenant: string, id: string): Promise<Experiment | undefined>
  /** Newest first. */
  list(tenant: string, page: Page): Promise<Experiment[]>
  /**
   * Marks a pending experiment as running. Returns how many processes in a row were lost before without a new result; undefined where the
   * experiment has ended, or is unknown.
   */
  start(tenant: string, id: string, now: number): Promise<number | undefined>
  /** Notes that the process leaves the rest of a running experiment to others, and was not lost. */
  leave(tenant: string, id: string): Promise<void>
  /** Keeps the first result under a key, and none of a deleted session. False where the experiment does not run. */
  addResult(tenant: string, id: string, result: ExperimentResult): Promise<boolean>
  /** Keys and figures of all results. */
  done(tenant: string, id: string): Promise<DoneResult[]>
  /** In the order of examples, repetitions and variants, without traces. A page with long results ends early, and says that there are more. */
  results(tenant: string, id: string, page: ResultsQuery): Promise<{ results: ExperimentResult[]; hasMore: boolean }>
  /** The results of one example and repetition, with traces. */
  resultsOf(tenant: string, id: string, key: Omit<ResultKey, 'variant'>): Promise<ExperimentResult[]>
  /** The encrypted configurations of a pending or running experiment; undefined for others. */
  configurations(tenant: string, id: string): Promise<string | undefined>
  /** Ends a pending or running experiment. False for others. */
  end(tenant: string, id: string, end: ExperimentEnd, acting?: Acting): Promise<boolean>
  /** Removes an ended experiment with its results. False for others. */
  remove(tenant: string, id: string, acting?: Acting): Promise<boolean>
  /** The newest completed experiment of the tenant that fits, whatever its verdict. */
  completed(tenant: string, query: CompletedQuery): Promise<Experiment | undefined>
}
