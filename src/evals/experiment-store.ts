import type { Owner } from '../access/owner.ts'
import type { JsonObject } from '../agent/messages.ts'
import type { Page } from './dataset-store.ts'

export type ExperimentStatus = 'pending' | 'running' | 'completed' | 'cancelled' | 'failed'

/** A dataset, replayed with one or two variants of the agent. */
export interface Experiment extends Owner {
  /** UUIDv7. */
  id: string
  requestId: string
  bodyHash: string
  /** Variants, scorers, repetitions and tools, frozen when the experiment was made. */
  spec: JsonObject
  status: ExperimentStatus
  /** Id of the dataset that a gate asks for: the first of the experiment. */
  dataset: string
  /** Hash of the candidate's configuration, or of the baseline's where there is no candidate. */
  configHash: string | undefined
  verdict: 'passed' | 'failed' | 'none' | undefined
  /** Present when the experiment has ended. */
  summary: JsonObject | undefined
  error: string | undefined
  createdAt: number
  startedAt: number | undefined
  endedAt: number | undefined
}

export type NewExperiment = Pick<
  Experiment,
  'tenant' | 'owner' | 'id' | 'requestId' | 'bodyHash' | 'spec' | 'dataset' | 'configHash' | 'createdAt'
>

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
  outcome: 'passed' | 'failed' | 'diverged' | 'error'
  /** Key of the session that takes the result with it when deleted; undefined: none does. */
  session: string | undefined
  content: JsonObject
  createdAt: number
}

export interface ExperimentEnd {
  status: 'completed' | 'failed' | 'cancelled'
  verdict: 'passed' | 'failed' | 'none'
  summary?: JsonObject
  error?: string
  now: number
}

/** Asks for an experiment whose candidate has a configuration. */
export interface PassedQuery {
  /** Id of the dataset. */
  dataset: string
  configHash: string
  /** Ended at this time or later, in epoch milliseconds. */
  since: number
}

/** Port: experiments and results. Each function is one transaction, durable when the promise resolves. */
export interface ExperimentStore {
  /** Stores an experiment with the job that replays it. A known request id changes nothing and returns the experiment that has it. */
  insert(experiment: NewExperiment): Promise<{ known: Experiment } | undefined>
  find(tenant: string, id: string): Promise<Experiment | undefined>
  /** Newest first. */
  list(tenant: string, page: Page): Promise<Experiment[]>
  /** Marks a pending experiment as running. False where the experiment has ended, or is unknown. */
  start(tenant: string, id: string, now: number): Promise<boolean>
  /** Keeps the first result under a key. False where the experiment does not run. */
  addResult(tenant: string, id: string, result: ExperimentResult): Promise<boolean>
  /** Keys of all results. */
  done(tenant: string, id: string): Promise<ResultKey[]>
  /** In the order of their keys. */
  results(tenant: string, id: string, page: { limit: number; offset: number }): Promise<ExperimentResult[]>
  /** Ends a pending or running experiment. False for others. */
  end(tenant: string, id: string, end: ExperimentEnd): Promise<boolean>
  /** Removes an ended experiment with its results. False for others. */
  remove(tenant: string, id: string): Promise<boolean>
  /** The newest passed experiment of the tenant that fits. */
  passed(tenant: string, query: PassedQuery): Promise<Experiment | undefined>
}
