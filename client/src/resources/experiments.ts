import type { CallOptions, Query, Reply, RequestOptions } from '../operation.ts'
import { pause, repeat, withDefaults, type RetryOptions } from '../retry.ts'
import type { Transport } from '../transport.ts'
import { nextPage, readPages } from './pages.ts'

export type ExperimentPage = Reply<'GET', '/core/v1/experiments'>
export type Experiment = ExperimentPage['experiments'][number]
export type NewExperiment = NonNullable<RequestOptions<'POST', '/core/v1/experiments'>['body']>
/** The agent that answers the questions: a version, a patch, a whole agent.yaml, or the recording. */
export type Variant = NonNullable<NewExperiment['candidate']>
export type ExperimentResultPage = Reply<'GET', '/core/v1/experiments/{id}/results'>
export type ExperimentResult = ExperimentResultPage['results'][number]

type ListQuery = Query<'GET', '/core/v1/experiments'>
type ResultQuery = Query<'GET', '/core/v1/experiments/{id}/results'>

export interface CreateExperimentOptions extends CallOptions {
  /** Makes a repeated call safe: the same id and the same request start one experiment. */
  requestId?: string | undefined
}

export interface WaitOptions extends CallOptions, RetryOptions {
  /** Milliseconds between two reads; default 1000. */
  intervalMs?: number | undefined
  /** Called after each read, also for the ended experiment. */
  onProgress?: ((experiment: Experiment) => void) | undefined
}

/** Datasets, replayed with variants of the agent. No call that writes is executed. */
export interface Experiments {
  /** Lists a page of the tenant's experiments, newest first. */
  list(query?: ListQuery, options?: CallOptions): Promise<ExperimentPage>
  /** Yields all experiments, page by page. */
  all(query?: ListQuery, options?: CallOptions): AsyncGenerator<Experiment, void>
  /** Returns an experiment with its figures so far. */
  get(id: string, options?: CallOptions): Promise<Experiment>
  /** Starts an experiment. Later changes of datasets and configurations do not count. */
  create(experiment: NewExperiment, options?: CreateExperimentOptions): Promise<Experiment>
  /** Returns the experiment when it has ended: completed, cancelled or failed. */
  wait(id: string, options?: WaitOptions): Promise<Experiment>
  /** Lists a page of results, in the order of examples and repetitions. */
  results(id: string, query?: ResultQuery, options?: CallOptions): Promise<ExperimentResultPage>
  /** Yields all results, page by page. */
  allResults(id: string, query?: ResultQuery, options?: CallOptions): AsyncGenerator<ExperimentResult, void>
  /** Returns the result of an example with the traces of the run and of the replays. `repetition`: from 1. */
  result(id: string, exampleId: string, options?: CallOptions & { repetition?: number | undefined }): Promise<ExperimentResult>
  /** Cancels a pending or running experiment, and returns the experiment. Deletes an ended experiment, and returns undefined. */
  delete(id: string, options?: CallOptions): Promise<Experiment | undefined>
}

const path = '/core/v1/experiments'
const pathOfOne = '/core/v1/experiments/{id}'

export function createExperiments(transport: Transport, defaults: RetryOptions): Experiments {
  const list: Experiments['list'] = (query, options) => transport.request('GET', path, { ...options, query })
  const get: Experiments['get'] = (id, options) => transport.request('GET', pathOfOne, { ...options, path: { id } })
  const results: Experiments['results'] = (id, query, options) =>
    transport.request('GET', `${pathOfOne}/results`, { ...options, path: { id }, query })

  return {
    list,
    all(query, options) {
      const load = (before: string | undefined) => list({ ...query, ...(before === undefined ? {} : { before }) }, options)
      return readPages(load, { elements: ({ experiments }) => experiments, next: nextPage })
    },
    get,
    create: (body, { requestId, headers, ...options } = {}) =>
      transport.request('POST', path, { ...options, headers: { ...headers, 'request-id': requestId }, body }),
    async wait(id, { intervalMs = 1000, onProgress, headers, signal, ...options } = {}) {
      for (;;) {
        const experiment = await repeat(() => get(id, { headers, signal }), withDefaults(options, defaults), signal)
        onProgress?.(experiment)
        if (experiment.status !== 'pending' && experiment.status !== 'running') return experiment
        signal?.throwIfAborted()
        await pause(intervalMs, signal)
      }
    },
    results,
    allResults(id, query, options) {
      const load = (offset = String(query?.offset ?? 0)) => results(id, { ...query, offset: Number(offset) }, options)
      const next = ({ offset, has_more: hasMore }: ExperimentResultPage) => (hasMore ? String(offset) : undefined)
      return readPages(load, { elements: (page) => page.results, next })
    },
    result: (id, exampleId, { repetition, ...options } = {}) =>
      transport.request('GET', `${pathOfOne}/results/{example_id}`, {
        ...options,
        path: { id, example_id: exampleId },
        query: repetition === undefined ? {} : { repetition },
      }),
    delete: (id, options) => transport.request('DELETE', pathOfOne, { ...options, path: { id } }),
  }
}
