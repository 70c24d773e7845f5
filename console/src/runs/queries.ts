import { useMemo } from 'react'
import { client, type Reply, type RequestOptions } from '../api/client.ts'
import type { Page } from '../parts/pages/page.ts'
import { usePages } from '../parts/pages/use-pages.ts'
import { startOf } from '../parts/period.ts'
import { withToolErrors } from './labels.ts'

export type RunSummary = Reply<'GET', '/core/v1/runs'>['runs'][number]

type Query = NonNullable<RequestOptions<'GET', '/core/v1/runs'>['query']>

/** Names of the filters in the address of the list. */
export const filterNames = ['status', 'operation', 'period', 'sub', 'tool', 'version', 'session'] as const

export type RunFilters = Partial<Record<(typeof filterNames)[number], string>>

/** Names a run among those of all callers. */
export const idOf = ({ request_id: id, issuer, sub }: RunSummary): string => `${id} ${issuer} ${sub}`

/** Runs that the caller may see, newest first. */
export function useRuns({ status, operation, period, sub, tool, version, session }: RunFilters) {
  const since = useMemo(() => startOf(period), [period])
  const filters = {
    status: status === withToolErrors ? undefined : (status as Query['status']),
    tool_errors: status === withToolErrors ? true : undefined,
    operation: operation as Query['operation'],
    since: since === undefined ? undefined : new Date(since).toISOString(),
    session_id: session,
    sub,
    tool,
    version,
  }
  return usePages<RunSummary>({
    queryKey: ['runs', filters],
    load: async (before, signal): Promise<Page<RunSummary>> => {
      const { runs, offset, has_more } = await client.request('GET', '/core/v1/runs', { query: { ...filters, before }, signal })
      return { rows: runs, offset, has_more }
    },
    idOf,
    isLive: true,
  })
}
