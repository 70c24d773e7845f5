import type { CallOptions, Query, Reply, RequestOptions } from '../operation.ts'
import type { Transport } from '../transport.ts'
import { nextPage, readPages } from './pages.ts'
import type { Run } from './runs.ts'

export type ApprovalPage = Reply<'GET', '/core/v1/approvals'>
export type WaitingCall = ApprovalPage['approvals'][number]
export type Decision = RequestOptions<'POST', '/core/v1/runs/{request_id}/approvals'>['body']

/** Tool calls that wait for the decision of a person. */
export interface Approvals {
  /** Lists the calls that the caller may decide, newest first. */
  list(query?: Query<'GET', '/core/v1/approvals'>, options?: CallOptions): Promise<ApprovalPage>
  /** Yields all waiting calls, page by page. */
  all(query?: Query<'GET', '/core/v1/approvals'>, options?: CallOptions): AsyncGenerator<WaitingCall, void>
  /** Decides a call. The run goes on when all of its calls are decided. The same decision may be sent again; another one is 409. */
  decide(requestId: string, decision: Decision, options?: CallOptions): Promise<Run>
}

export function createApprovals(transport: Transport): Approvals {
  const list: Approvals['list'] = (query, options) => transport.request('GET', '/core/v1/approvals', { ...options, query })

  return {
    list,
    all(query, options) {
      const load = (before: string | undefined) => list({ ...query, ...(before === undefined ? {} : { before }) }, options)
      return readPages(load, { elements: ({ approvals }) => approvals, next: nextPage })
    },
    decide: (requestId, body, options) =>
      transport.request('POST', '/core/v1/runs/{request_id}/approvals', { ...options, path: { request_id: requestId }, body }),
  }
}
