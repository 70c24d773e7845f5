import type { CallOptions, Query, Reply, RequestOptions, Schema } from '../operation.ts'
import type { Transport } from '../transport.ts'
import { nextPage, readPages } from './pages.ts'

export type DatasetPage = Reply<'GET', '/core/v1/datasets'>
export type Dataset = DatasetPage['datasets'][number]
export type NewDataset = RequestOptions<'POST', '/core/v1/datasets'>['body']
export type DatasetPatch = NonNullable<RequestOptions<'PATCH', '/core/v1/datasets/{id}'>['body']>
/** A measure of an answer, of calls or of cost. */
export type Scorer = Schema<'Scorer'>
export type ExamplePage = Reply<'GET', '/core/v1/datasets/{id}/examples'>
/** An example without the recording. */
export type ListedExample = ExamplePage['examples'][number]
export type Example = Reply<'GET', '/core/v1/datasets/{id}/examples/{example_id}'>
type ExampleBody = NonNullable<RequestOptions<'POST', '/core/v1/datasets/{id}/examples'>['body']>
export type NewExample = Omit<ExampleBody, 'from_run'> & Required<Pick<ExampleBody, 'input'>>
export type ExamplePatch = NonNullable<RequestOptions<'PATCH', '/core/v1/datasets/{id}/examples/{example_id}'>['body']>

type DatasetQuery = Query<'GET', '/core/v1/datasets'>
type ExampleQuery = Query<'GET', '/core/v1/datasets/{id}/examples'>

/** The fields of an example that a run does not have. */
export interface AddRunOptions extends CallOptions, Pick<ExampleBody, 'name' | 'tags' | 'expected'> {
  /** The owner of the run, for administrators. */
  issuer?: string | undefined
  sub?: string | undefined
}

/** Examples of a dataset. The argument `dataset` is an id or a name. */
export interface Examples {
  /** Lists a page of examples, newest first. `revision` shows the dataset as it was then. */
  list(dataset: string, query?: ExampleQuery, options?: CallOptions): Promise<ExamplePage>
  /** Yields all examples, page by page. */
  all(dataset: string, query?: ExampleQuery, options?: CallOptions): AsyncGenerator<ListedExample, void>
  /** Returns an example with the recording. */
  get(dataset: string, id: string, options?: CallOptions): Promise<Example>
  /** Adds an example that is written by hand. */
  create(dataset: string, example: NewExample, options?: CallOptions): Promise<Example>
  /** Adds an ended run: the question, the replies, and the calls with outputs. Throws 409 `RunNotEnded` for a run that goes on. */
  addRun(dataset: string, requestId: string, options?: AddRunOptions): Promise<Example>
  /** Changes an example in a new revision of the dataset. With `source: null` the example stays when the session of its run is deleted. */
  update(dataset: string, id: string, fields: ExamplePatch, options?: CallOptions): Promise<Example>
  /** Removes an example in a new revision of the dataset. */
  delete(dataset: string, id: string, options?: CallOptions): Promise<void>
}

/** Examples of what the agent is asked. */
export interface Datasets {
  /** Lists a page of the tenant's datasets, newest first. */
  list(query?: DatasetQuery, options?: CallOptions): Promise<DatasetPage>
  /** Yields all datasets, page by page. */
  all(query?: DatasetQuery, options?: CallOptions): AsyncGenerator<Dataset, void>
  /** Returns a dataset by id or name. */
  get(dataset: string, options?: CallOptions): Promise<Dataset>
  create(dataset: NewDataset, options?: CallOptions): Promise<Dataset>
  /** Changes fields of a dataset. Changed scorers make a new revision. */
  update(dataset: string, fields: DatasetPatch, options?: CallOptions): Promise<Dataset>
  /** Deletes a dataset with its examples and experiments. */
  delete(dataset: string, options?: CallOptions): Promise<void>
  examples: Examples
}

const path = '/core/v1/datasets'
const pathOfOne = '/core/v1/datasets/{id}'
const examplesPath = '/core/v1/datasets/{id}/examples'
const examplePath = '/core/v1/datasets/{id}/examples/{example_id}'

export function createDatasets(transport: Transport): Datasets {
  const list: Datasets['list'] = (query, options) => transport.request('GET', path, { ...options, query })

  return {
    list,
    all(query, options) {
      const load = (before: string | undefined) => list({ ...query, ...(before === undefined ? {} : { before }) }, options)
      return readPages(load, { elements: ({ datasets }) => datasets, next: nextPage })
    },
    get: (id, options) => transport.request('GET', pathOfOne, { ...options, path: { id } }),
    create: (body, options) => transport.request('POST', path, { ...options, body }),
    update: (id, body, options) => transport.request('PATCH', pathOfOne, { ...options, path: { id }, body }),
    delete: (id, options) => transport.request('DELETE', pathOfOne, { ...options, path: { id } }),
    examples: createExamples(transport),
  }
}

function createExamples(transport: Transport): Examples {
  const list: Examples['list'] = (id, query, options) => transport.request('GET', examplesPath, { ...options, path: { id }, query })
  const add = (id: string, body: ExampleBody, options?: CallOptions) =>
    transport.request('POST', examplesPath, { ...options, path: { id }, body })
  const parts = (dataset: string, id: string, options?: CallOptions) => ({ ...options, path: { id: dataset, example_id: id } })

  return {
    list,
    all(dataset, query, options) {
      const load = (before: string | undefined) => list(dataset, { ...query, ...(before === undefined ? {} : { before }) }, options)
      return readPages(load, { elements: ({ examples }) => examples, next: nextPage })
    },
    get: (dataset, id, options) => transport.request('GET', examplePath, parts(dataset, id, options)),
    create: add,
    addRun(dataset, requestId, { issuer, sub, headers, signal, ...fields } = {}) {
      const run = { request_id: requestId, ...(issuer === undefined ? {} : { issuer }), ...(sub === undefined ? {} : { sub }) }
      return add(dataset, { from_run: run, ...fields }, { headers, signal })
    },
    update: (dataset, id, body, options) => transport.request('PATCH', examplePath, { ...parts(dataset, id, options), body }),
    delete: (dataset, id, options) => transport.request('DELETE', examplePath, parts(dataset, id, options)),
  }
}
