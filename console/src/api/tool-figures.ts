import { useQuery } from '@tanstack/react-query'
import { startOf, type Period } from '../parts/period.ts'
import { client, type Reply } from './client.ts'
import { useMay } from './me.ts'
import { live } from './query-client.ts'

export type ToolFigures = Reply<'GET', '/core/v1/metrics/tools'>['tools'][number]

/** Metrics read all runs of a period: they are asked for less often than a list. */
export const metricsRefresh = { ...live, refetchInterval: 15_000 } as const

/** Calls, errors and durations of the tools that the runs of a period have called. Not loaded where the key may not see metrics. */
export function useToolFigures(period: Period) {
  const isPermitted = useMay()('observability.read')
  return useQuery({
    queryKey: ['metrics of tools', period],
    queryFn: async ({ signal }) => {
      const since = new Date(startOf(period)!).toISOString()
      return (await client.request('GET', '/core/v1/metrics/tools', { query: { since }, signal })).tools
    },
    ...metricsRefresh,
    enabled: isPermitted,
  })
}
