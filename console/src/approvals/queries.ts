import { client, type Reply } from '../api/client.ts'
import { approvalsKey } from '../parts/approval/queries.ts'
import { usePages } from '../parts/pages/use-pages.ts'

export type Approval = Reply<'GET', '/core/v1/approvals'>['approvals'][number]

/** Names a call among those of all runs. */
export const idOf = ({ tool_call_id: call, request_id: run, issuer, sub }: Approval): string => JSON.stringify([call, run, issuer, sub])

/** Calls that wait for approval: the caller's own, and calls that the key may decide; newest first. */
export function useApprovals() {
  return usePages<Approval>({
    queryKey: [approvalsKey, 'all'],
    load: async (before, signal) => {
      const { approvals, offset, has_more } = await client.request('GET', '/core/v1/approvals', { query: { before }, signal })
      return { rows: approvals, offset, has_more }
    },
    idOf,
    isLive: true,
  })
}
