import { useQuery } from '@tanstack/react-query'
import { client, type Reply } from './client.ts'
import { useMay } from './me.ts'
import { live } from './query-client.ts'

export type Tool = Reply<'GET', '/core/v1/tools'>['tools'][number]

/** Name of the list in the cache. */
export const toolsKey = ['tools'] as const

/** The tools of the agent with their schemas and states. Not loaded where the key may not list tools. */
export function useTools({ isLive = false }: { isLive?: boolean } = {}) {
  const isPermitted = useMay()('tools.read')
  return useQuery({
    queryKey: toolsKey,
    queryFn: async ({ signal }) => (await client.request('GET', '/core/v1/tools', { signal })).tools,
    enabled: isPermitted,
    ...(isLive ? live : { staleTime: 30_000 }),
  })
}
