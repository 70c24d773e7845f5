import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { client, type Reply, type RequestOptions } from '../api/client.ts'
import { live } from '../api/query-client.ts'

const path = '/core/v1/chain/sub_agents'
const listKey = ['sub-agents'] as const

export type SubAgent = Reply<'GET', typeof path>['sub_agents'][number]
export type NewSubAgent = NonNullable<RequestOptions<'POST', typeof path>['body']>

/** The caller's sub-agents. The service allows a small number, so the list has no pages. */
export function useSubAgents() {
  return useQuery({ queryKey: listKey, queryFn: async ({ signal }) => (await client.request('GET', path, { signal })).sub_agents, ...live })
}

export function useCreateSubAgent() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: NewSubAgent) => client.request('POST', path, { body }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: listKey }),
  })
}

/** Ends a sub-agent. The service cancels the running task. */
export function useEndSubAgent() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ id }: SubAgent) => client.request('DELETE', `${path}/{sub_agent_id}`, { path: { sub_agent_id: id } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: listKey }),
  })
}
