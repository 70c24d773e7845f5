import { useMutation, useQueryClient } from '@tanstack/react-query'
import { client, type RequestOptions } from '../../api/client.ts'

export type Decision = RequestOptions<'POST', '/core/v1/runs/{request_id}/approvals'>['body']

/** Name of every list of calls that wait for approval in the cache. */
export const approvalsKey = 'approvals'

/** Decides a call. The lists of waiting calls are loaded again, whatever the answer; the call has then left the page. */
export function useDecide(requestId: string, onDecided?: (decision: Decision['decision']) => void) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: Decision) =>
      client.request('POST', '/core/v1/runs/{request_id}/approvals', { path: { request_id: requestId }, body }),
    onSuccess: (_reply, { decision }) => onDecided?.(decision),
    onSettled: () => queryClient.invalidateQueries({ queryKey: [approvalsKey] }),
  })
}
