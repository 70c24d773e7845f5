import { useQuery } from '@tanstack/react-query'
import { client, type Reply } from '../api/client.ts'
import { metricsRefresh } from '../api/tool-figures.ts'
import { startOf, type Period } from '../parts/period.ts'

export type SeriesReply = Reply<'GET', '/core/v1/metrics/series'>
export type Series = SeriesReply['series'][number]
export type Grouping = SeriesReply['by']

/** Runs, errors, latency, tokens and cost of a period by hour, or by day where there would be too many hours. */
export function useSeries(period: Period, by: Grouping) {
  return useQuery({
    queryKey: ['metrics', period, by],
    queryFn: ({ signal }) => {
      const bucket = period === '30d' ? 'day' : 'hour'
      const since = new Date(startOf(period)!).toISOString()
      return client.request('GET', '/core/v1/metrics/series', { query: { bucket, by, since }, signal })
    },
    ...metricsRefresh,
  })
}
