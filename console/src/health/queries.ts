import { useQuery } from '@tanstack/react-query'
import { client, type Reply } from '../api/client.ts'
import { live } from '../api/query-client.ts'

export type ServiceStatus = Reply<'GET', '/core/v1/status'>
export type Check = ServiceStatus['checks'][number]
export type Replica = ServiceStatus['replicas'][number]

/** The health of the whole service. The service answers with what it found at most 10 s ago. */
export function useStatus() {
  return useQuery({
    queryKey: ['status'],
    queryFn: ({ signal }) => client.request('GET', '/core/v1/status', { signal }),
    ...live,
    refetchInterval: 5_000,
  })
}
