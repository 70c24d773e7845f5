import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { client, type Reply } from '../api/client.ts'
import { statusOf } from '../api/errors.ts'
import { useMay } from '../api/me.ts'
import { approvalsKey } from '../parts/approval/queries.ts'
import { usePages } from '../parts/pages/use-pages.ts'

export type Session = Reply<'GET', '/core/v1/sessions'>['sessions'][number]
export type Message = Reply<'GET', '/core/v1/sessions/{session_id}'>['messages'][number]

const sessionsPerPage = 60

/** Own sessions, latest activity first; with `q`, only sessions that contain the words of `q`. */
export function useSessions(q: string) {
  return usePages({
    queryKey: ['sessions', q],
    load: async (before, signal) => {
      const query = { limit: sessionsPerPage, ...(before !== undefined && { before }), ...(q !== '' && { q }) }
      const { sessions, next } = await client.request('GET', '/core/v1/sessions', { query, signal })
      const last = sessions.at(-1)?.session_id ?? ''
      const hasMore = q === '' ? sessions.length === sessionsPerPage : next !== undefined
      return { rows: sessions, offset: next ?? last, has_more: hasMore }
    },
    idOf: ({ session_id }) => session_id,
    isLive: q === '',
  })
}

/** Messages of a session; none for a session that does not exist yet. */
export function useSession(sessionId: string, isNew: boolean) {
  return useQuery({
    queryKey: ['session', sessionId],
    queryFn: async ({ signal }) => {
      try {
        const { messages, short_name } = await client.request('GET', '/core/v1/sessions/{session_id}', {
          path: { session_id: sessionId },
          signal,
        })
        return { messages, short_name }
      } catch (error) {
        if (statusOf(error) === 404) return null
        throw error
      }
    },
    enabled: !isNew,
    refetchOnWindowFocus: false,
    staleTime: 0,
  })
}

/** The active run of a session, if any: the page follows the run after a reload. */
export async function findActiveRun(sessionId: string, signal: AbortSignal) {
  const { runs } = await client.request('GET', '/core/v1/runs', { query: { session_id: sessionId, limit: 5 }, signal })
  return runs.find(({ status }) => status === 'running' || status === 'interrupted' || status === 'pending')
}

export function useActiveRun(sessionId: string, enabled: boolean) {
  const may = useMay()
  return useQuery({
    queryKey: ['active run', sessionId],
    queryFn: async ({ signal }) => (await findActiveRun(sessionId, signal)) ?? null,
    enabled: enabled && may('runs.read'),
    refetchOnWindowFocus: false,
    staleTime: 0,
    gcTime: 0,
  })
}

export function useDeleteSession() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ session_id }: Session) => client.request('DELETE', '/core/v1/sessions/{session_id}', { path: { session_id } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['sessions'] }),
  })
}

/** Calls of a run that wait for approval and that the caller may see. */
export function useOpenCalls(requestId: string, enabled: boolean) {
  const may = useMay()
  return useQuery({
    queryKey: [approvalsKey, requestId],
    queryFn: async ({ signal }) => {
      const { approvals } = await client.request('GET', '/core/v1/approvals', { query: { limit: 100 }, signal })
      return approvals.filter((call) => call.request_id === requestId)
    },
    enabled: enabled && (may('runs.read') || may('runs.write') || may('runs.approve')),
    refetchInterval: 4000,
  })
}

/** Files below the files root whose paths contain `q`. */
export function useContextFiles(q: string) {
  return useQuery({
    queryKey: ['context files', q],
    queryFn: ({ signal }) => client.request('GET', '/core/v1/context_files', { query: q === '' ? {} : { q }, signal }),
    placeholderData: (before) => before,
  })
}
