import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { client, type Reply } from '../api/client.ts'
import { live } from '../api/query-client.ts'

export type Run = Reply<'GET', '/core/v1/runs/{request_id}'>
export type Trace = Reply<'GET', '/core/v1/runs/{request_id}/trace'>
export type Span = Trace['spans'][number]

/** What names the run of the address: the owner stands in it where the run is another caller's. */
export interface RunKey {
  id: string
  issuer?: string | undefined
  sub?: string | undefined
}

const endedStatuses: ReadonlySet<string> = new Set(['success', 'error', 'timeout', 'cancelled'])

export const hasEnded = ({ status }: Pick<Run, 'status'>): boolean => endedStatuses.has(status)

const keyOf = (what: string, { id, issuer, sub }: RunKey) => [what, id, issuer, sub] as const

const requestOf = ({ id, issuer, sub }: RunKey) => ({ path: { request_id: id }, query: { issuer, sub } })

/** The run. Asked for again until it has ended and its callback has been delivered. */
export function useRun(run: RunKey) {
  return useQuery({
    queryKey: keyOf('run', run),
    queryFn: ({ signal }) => client.request('GET', '/core/v1/runs/{request_id}', { ...requestOf(run), signal }),
    refetchInterval: ({ state: { data } }) => (data && isSettled(data) ? false : live.refetchInterval),
  })
}

const isSettled = (run: Run): boolean => hasEnded(run) && run.callback?.status !== 'pending'

/** What the run did. A trace can be large: it is not compared with the one before. */
export function useTrace(run: RunKey, isLive: boolean) {
  return useQuery({
    queryKey: keyOf('trace', run),
    queryFn: ({ signal }) => client.request('GET', '/core/v1/runs/{request_id}/trace', { ...requestOf(run), signal }),
    refetchInterval: isLive ? live.refetchInterval : false,
    structuralSharing: false,
  })
}

/** One span with whole values; of a model call, also the messages that the model was sent. */
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
