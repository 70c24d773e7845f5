import { useMutation, useQueryClient } from '@tanstack/react-query'
import { client, type Reply, type RequestOptions } from '../api/client.ts'
import { usePages } from '../parts/pages/use-pages.ts'

export type Delivery = Reply<'GET', '/core/v1/callbacks'>['callbacks'][number]

type Query = NonNullable<RequestOptions<'GET', '/core/v1/callbacks'>['query']>

export const statuses: readonly Delivery['status'][] = ['pending', 'delivered', 'failed', 'gone']

/** Names a delivery among those of all callers. */
export const idOf = ({ request_id: id, issuer, sub, config_id: config }: Delivery): string => JSON.stringify([id, issuer, sub, config])

/** Callbacks and push notifications that the caller may see, newest first. */
export function useDeliveries(status: string | undefined) {
  return usePages<Delivery>({
    queryKey: ['callbacks', status],
    load: async (before, signal) => {
      const query = { status: status as Query['status'], before }
      const { callbacks, offset, has_more } = await client.request('GET', '/core/v1/callbacks', { query, signal })
      return { rows: callbacks, offset, has_more }
    },
    idOf,
    isLive: true,
  })
}

/** Sends a callback of one's own again. */
export function useResend() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ request_id }: Delivery) => client.request('POST', '/core/v1/runs/{request_id}/callback', { path: { request_id } }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['callbacks'] }),
  })
}
