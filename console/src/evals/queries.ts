import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { client, type Reply, type RequestOptions, type Schema } from '../api/client.ts'
import { usePages } from '../parts/pages/use-pages.ts'

/** A measure of an answer, of its calls or of its cost. */
export type Scorer = Schema<'Scorer'>
export type Dataset = Reply<'GET', '/core/v1/datasets/{id}'>
export type Example = Reply<'GET', '/core/v1/datasets/{id}/examples'>['examples'][number]
export type FullExample = Reply<'GET', '/core/v1/datasets/{id}/examples/{example_id}'>
export type DatasetPatch = RequestOptions<'PATCH', '/core/v1/datasets/{id}'>['body']
export type ExamplePatch = RequestOptions<'PATCH', '/core/v1/datasets/{id}/examples/{example_id}'>['body']
export type ExampleBody = RequestOptions<'POST', '/core/v1/datasets/{id}/examples'>['body']
export type NewDataset = RequestOptions<'POST', '/core/v1/datasets'>['body']

/** Names an example: its dataset by id. */
export interface ExampleKey {
  dataset: string
  example: Example
}

const examplePath = '/core/v1/datasets/{id}/examples/{example_id}'
const listKey = ['datasets'] as const
const datasetKey = (id: string) => ['dataset', id] as const

/** The datasets of the tenant, newest first. */
export function useDatasets() {
  return usePages<Dataset>({
    queryKey: listKey,
    load: async (before, signal) => {
      const { datasets, offset, has_more } = await client.request('GET', '/core/v1/datasets', { query: { before, limit: 100 }, signal })
      return { rows: datasets, offset, has_more }
    },
    idOf: ({ id }) => id,
    isLive: true,
  })
}

export function useDataset(id: string) {
  return useQuery({
    queryKey: datasetKey(id),
    queryFn: ({ signal }) => client.request('GET', '/core/v1/datasets/{id}', { path: { id }, signal }),
  })
}

/** The examples of the current revision, newest first. */
export function useExamples(id: string) {
  return usePages<Example>({
    queryKey: [...datasetKey(id), 'examples'],
    load: async (before, signal) => {
      const request = { path: { id }, query: { before }, signal }
      const { examples, offset, has_more } = await client.request('GET', '/core/v1/datasets/{id}/examples', request)
      return { rows: examples, offset, has_more }
    },
    idOf: ({ id: example }) => example,
  })
}

/** An example with its recording. A revision of an example never changes. */
export function useExample({ dataset, example: { id, revision } }: ExampleKey) {
  return useQuery({
    queryKey: ['example', dataset, id, revision],
    queryFn: ({ signal }) => client.request('GET', examplePath, { path: { id: dataset, example_id: id }, signal }),
    staleTime: Infinity,
    structuralSharing: false,
  })
}

/** Changes of datasets. Each reads the list and the dataset anew. */
export function useDatasetMutations() {
  const queryClient = useQueryClient()
  const onSuccess = () => Promise.all([listKey, ['dataset']].map((queryKey) => queryClient.invalidateQueries({ queryKey })))
  return {
    create: useMutation({ mutationFn: (body: NewDataset) => client.request('POST', '/core/v1/datasets', { body }), onSuccess }),
    change: useMutation({
      mutationFn: ({ id, patch }: { id: string; patch: DatasetPatch }) =>
        client.request('PATCH', '/core/v1/datasets/{id}', { path: { id }, body: patch }),
      onSuccess,
    }),
    remove: useMutation({
      mutationFn: ({ id }: Dataset) => client.request('DELETE', '/core/v1/datasets/{id}', { path: { id } }),
      // The page of the dataset must not ask for the dataset again.
      onSuccess: () => queryClient.invalidateQueries({ queryKey: listKey }),
    }),
    add: useMutation({
      mutationFn: ({ id, example }: { id: string; example: ExampleBody }) =>
        client.request('POST', '/core/v1/datasets/{id}/examples', { path: { id }, body: example }),
      onSuccess,
    }),
    changeExample: useMutation({
      mutationFn: ({ dataset, example, patch }: ExampleKey & { patch: ExamplePatch }) =>
        client.request('PATCH', examplePath, { path: { id: dataset, example_id: example.id }, body: patch }),
      onSuccess,
    }),
    detachExample: useMutation({
      mutationFn: ({ dataset, example }: ExampleKey) =>
        client.request('PATCH', examplePath, { path: { id: dataset, example_id: example.id }, body: { source: null } }),
      onSuccess,
    }),
    removeExample: useMutation({
      mutationFn: ({ dataset, example }: ExampleKey) =>
        client.request('DELETE', examplePath, { path: { id: dataset, example_id: example.id } }),
      onSuccess,
    }),
  }
}
