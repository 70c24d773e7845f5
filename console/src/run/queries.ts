import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { client, type Reply } from '../api/client.ts'
import { live } from '../api/query-client.ts'

export type Run = Reply<'GET', '/core/v1/runs/{request_id}'>
export type Trace = Reply<'GET', '/core/v1/runs/{request_id}/trace'>
export type Span = Trace['spans'][number]

/** Key of the run in the address; includes the owner of another caller's run. */
export interface RunKey {
  id: string
  issuer?: string | undefined
  sub?: string | undefined
}

const endedStatuses: ReadonlySet<string> = new Set(['success', 'error', 'timeout', 'cancelled'])

export const hasEnded = ({ status }: Pick<Run, 'status'>): boolean => endedStatuses.has(status)

const keyOf = (part: string, { id, issuer, sub }: RunKey) => [part, id, issuer, sub] as const

const requestOf = ({ id, issuer, sub }: RunKey) => ({ path: { request_id: id }, query: { issuer, sub } })

/** The run. Refreshed until the end of the run and the delivery of the callback. */
export function useRun(run: RunKey) {
  return useQuery({
    queryKey: keyOf('run', run),
    queryFn: ({ signal }) => client.request('GET', '/core/v1/runs/{request_id}', { ...requestOf(run), signal }),
    refetchInterval: ({ state: { data } }) => (data && isSettled(data) ? false : live.refetchInterval),
  })
}

const isSettled = (run: Run): boolean => hasEnded(run) && run.callback?.status !== 'pending'

/** The trace of the run. A trace can be large and is not compared with the previous trace. */
export function useTrace(run: RunKey, isLive: boolean) {
  return useQuery({
    queryKey: keyOf('trace', run),
    queryFn: ({ signal }) => client.request('GET', '/core/v1/runs/{request_id}/trace', { ...requestOf(run), signal }),
    refetchInterval: isLive ? live.refetchInterval : false,
    structuralSharing: false,
  })
}

/** A span with whole values; for a model call, also the messages sent. */
export function useWholeSpan(run: RunKey, span: string, enabled: boolean) {
  return useQuery({
    queryKey: [...keyOf('span', run), span],
    queryFn: async ({ signal }) => {
      const { path, query } = requestOf(run)
      const trace = await client.request('GET', '/core/v1/runs/{request_id}/trace', { path, query: { ...query, span }, signal })
      return trace.spans[0]
    },
    enabled,
    structuralSharing: false,
    staleTime: Infinity,
  })
}

/** The row of the run in the list of runs: its question, caller, cost and version. */
export function useSummary(key: RunKey, run: Run | undefined) {
  return useQuery({
    queryKey: [...keyOf('summary', key), run?.status],
    queryFn: async ({ signal }) => {
      const { created_at: since, session_id } = run!
      const until = new Date(Date.parse(since) + 1).toISOString()
      const { runs } = await client.request('GET', '/core/v1/runs', { query: { session_id, since, until, sub: key.sub }, signal })
      return runs.find(({ request_id: id }) => id === key.id) ?? null
    },
    enabled: run !== undefined,
  })
}

/** Cancels the run. */
export function useCancel(run: RunKey) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: () => client.request('DELETE', '/core/v1/runs/{request_id}', requestOf(run)),
    onSuccess: (after) => queryClient.setQueryData(keyOf('run', run), after),
  })
}

/** Sends the callback again. */
export function useResend(run: RunKey) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: () => client.request('POST', '/core/v1/runs/{request_id}/callback', { path: { request_id: run.id } }),
    onSuccess: (after) => queryClient.setQueryData(keyOf('run', run), after),
  })
}

/** Rates the answer, from -1 to 1. */
export function useRate(run: RunKey) {
  return useMutation({
    mutationFn: (rating: { score: number; comment?: string | undefined }) =>
      client.request('POST', '/core/v1/runs/{request_id}/feedback', { path: { request_id: run.id }, body: rating }),
  })
}
