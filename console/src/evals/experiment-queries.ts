import { keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { client, type RequestOptions, type Schema } from '../api/client.ts'
import { newId } from '../api/ids.ts'
import { live } from '../api/query-client.ts'
import { usePages } from '../parts/pages/use-pages.ts'

export type Experiment = Schema<'Experiment'>
/** Figures of a variant. */
export type Variant = Schema<'ExperimentVariant'>
export type EffectCounts = Experiment['effects']
/** An example with the results of both variants. */
export type Result = Schema<'ExperimentResult'>
export type VariantResult = Schema<'ExperimentVariantResult'>
export type Outcome = VariantResult['outcome']
export type Score = VariantResult['scores'][number]
export type TraceEntry = NonNullable<VariantResult['trace']>[number]
export type NewExperiment = NonNullable<RequestOptions<'POST', '/core/v1/experiments'>['body']>

const path = '/core/v1/experiments'
const pathOfOne = '/core/v1/experiments/{id}'
const listKey = ['experiments'] as const
const experimentKey = (id: string) => ['experiment', id] as const

export const hasEnded = ({ status }: Pick<Experiment, 'status'>): boolean => status !== 'pending' && status !== 'running'

/** The experiments of the tenant, newest first. */
export function useExperiments() {
  return usePages<Experiment>({
    queryKey: listKey,
    load: async (before, signal) => {
      const { experiments, offset, has_more } = await client.request('GET', path, { query: { before }, signal })
      return { rows: experiments, offset, has_more }
    },
    idOf: ({ id }) => id,
    isLive: true,
  })
}

const load = (id: string, signal?: AbortSignal) => client.request('GET', pathOfOne, { path: { id }, signal })

/** An experiment, refreshed until its end. */
export function useExperiment(id: string) {
  return useQuery({
    queryKey: experimentKey(id),
    queryFn: ({ signal }) => load(id, signal),
    refetchInterval: ({ state: { data } }) => (data && hasEnded(data) ? false : live.refetchInterval),
  })
}

interface ResultQuery {
  offset?: string | undefined
  limit?: number
  outcome?: Outcome | undefined
}

async function loadResults(id: string, { offset: start = '0', ...query }: ResultQuery, signal: AbortSignal) {
  const request = { path: { id }, query: { ...query, offset: Number(start) }, signal }
  const { results, offset, has_more } = await client.request('GET', `${pathOfOne}/results`, request)
  return { rows: results, offset: String(offset), has_more }
}

/** Results by example and repetition. While the experiment goes on the first page is live; its end loads all anew. */
export function useResults(experiment: Experiment, outcome: Outcome | undefined) {
  const { id } = experiment
  const isLive = !hasEnded(experiment)
  const queryClient = useQueryClient()
  useEffect(() => {
    if (!isLive) void queryClient.invalidateQueries({ queryKey: [...experimentKey(id), 'results'] })
  }, [queryClient, id, isLive])
  return usePages<Result>({
    queryKey: [...experimentKey(id), 'results', outcome],
    load: (offset, signal) => loadResults(id, { offset, outcome }, signal),
    idOf: keyOf,
    isLive,
  })
}

export const keyOf = ({ example_id: example, repetition }: Result): string => `${example} ${repetition}`

const searchedRows = 100

/** The writes in the results, up to `wanted`: pages are loaded one after another until there are as many. */
export function useProposedWrites({ id, effects: { added, changed } }: Experiment, wanted: number) {
  const pages = useInfiniteQuery({
    // The counts name what is to be found: results without a further write load nothing.
    queryKey: [...experimentKey(id), 'writes', added, changed],
    queryFn: ({ pageParam, signal }) => loadResults(id, { offset: pageParam, limit: searchedRows }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => (last.has_more ? last.offset : undefined),
    enabled: added + changed > 0,
    placeholderData: keepPreviousData,
    structuralSharing: false,
  })
  const writes = useMemo(() => pages.data?.pages.flatMap(({ rows }) => rows.flatMap(writesOf)) ?? [], [pages.data])
  const { hasNextPage, isFetching, isError, fetchNextPage } = pages
  const isShort = hasNextPage && writes.length < wanted && !isError
  useEffect(() => {
    if (isShort && !isFetching) void fetchNextPage()
  }, [isShort, isFetching, fetchNextPage])
  return {
    writes,
    isPending: pages.isPending || isShort,
    error: pages.error,
    hasMore: hasNextPage || writes.length > wanted,
    retry: pages.refetch,
  }
}

/** A write that the recording does not have, with its place. */
export interface ProposedWrite {
  tool: string
  tool_input: unknown
  result: Result
  /** The arguments of the recorded write in its place. */
  before?: unknown
}

function writesOf(result: Result): ProposedWrite[] {
  const { changed = [] } = (result.candidate ?? result.baseline)?.effects ?? {}
  return result.proposed_writes.map(({ tool, tool_input }) => {
    const replaced = changed.find(({ tool: name, after }) => name === tool && JSON.stringify(after) === JSON.stringify(tool_input))
    return { tool, tool_input, result, ...(replaced && { before: replaced.before }) }
  })
}

/** The result of one example, with traces. While the experiment goes on a variant may be missing. */
export function useResult(id: string, example: string, repetition: number, isLive: boolean) {
  return useQuery({
    // The end of the experiment reads the result once more.
    queryKey: [...experimentKey(id), 'result', example, repetition, isLive],
    queryFn: ({ signal }) =>
      client.request('GET', `${pathOfOne}/results/{example_id}`, { path: { id, example_id: example }, query: { repetition }, signal }),
    ...(isLive && live),
    staleTime: 0,
    placeholderData: keepPreviousData,
  })
}

/** Starts an experiment. The same draft starts one experiment, also when it is sent again after a lost answer. */
export function useStartExperiment() {
  const queryClient = useQueryClient()
  const [ids] = useState(() => new Map<string, string>())
  return useMutation({
    mutationFn: (draft: NewExperiment) => {
      const text = JSON.stringify(draft)
      const id = ids.get(text) ?? newId()
      ids.set(text, id)
      return client.request('POST', path, { body: draft, headers: { 'request-id': id } })
    },
    onSuccess: () => queryClient.invalidateQueries({ queryKey: listKey }),
  })
}

/** Cancels an experiment that goes on; deletes an ended experiment. One that has ended since it was shown is kept. */
export function useEndExperiment() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: async (shown: Experiment) => {
      const { id } = shown
      if (hasEnded(shown) || !hasEnded(await load(id))) await client.request('DELETE', pathOfOne, { path: { id } })
    },
    onSuccess: async (_nothing, shown) => {
      if (!hasEnded(shown)) await queryClient.invalidateQueries({ queryKey: experimentKey(shown.id) })
      await queryClient.invalidateQueries({ queryKey: listKey })
    },
  })
}
