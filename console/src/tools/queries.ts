import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { client, type Reply, type RequestOptions } from '../api/client.ts'
import { useMay } from '../api/me.ts'
import { live } from '../api/query-client.ts'
import { toolsKey } from '../api/tools.ts'

export type Execution = Reply<'POST', '/core/v1/tool/execute'>
export type ExecuteRequest = RequestOptions<'POST', '/core/v1/tool/execute'>['body']
export type ChangedTool = Reply<'GET', '/core/v1/tools/changed'>['tools'][number]

const changedKey = ['changed tools'] as const

/** Runs a tool without a chat. A failure of the tool is a result; a wrong parameter is an error. */
export function useExecute() {
  return useMutation({
    mutationFn: ({ body, signal }: { body: ExecuteRequest; signal: AbortSignal }) =>
      client.request('POST', '/core/v1/tool/execute', { body, signal }),
  })
}

/** Tools with a changed definition; empty for a key without the permission to see the tools. */
export function useChangedTools() {
  const isPermitted = useMay()('config.read')
  return useQuery({
    queryKey: changedKey,
    queryFn: async ({ signal }) => client.request('GET', '/core/v1/tools/changed', { query: { limit: 100 }, signal }),
    ...live,
    refetchInterval: 10_000,
    enabled: isPermitted,
  })
}

/** Accepts the reviewed definition, named by a hash. */
export function useAccept() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ name, changed: { hash } }: ChangedTool) =>
      client.request('POST', '/core/v1/tools/{name}/accept', { path: { name }, body: { hash } }),
    onSettled: () => {
      void queryClient.invalidateQueries({ queryKey: changedKey })
      void queryClient.invalidateQueries({ queryKey: toolsKey })
    },
  })
}
