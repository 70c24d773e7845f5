import { useQuery } from '@tanstack/react-query'
import { client } from './client.ts'
import { useMay } from './me.ts'

const unnamed = { name: 'Agent Core', description: '', conversation_starters: [], capabilities: [] }

/** Name, description and conversation starters of the agent; neutral values until they are known. */
export function useAgent() {
  const may = useMay()
  const query = useQuery({
    queryKey: ['metadata'],
    queryFn: ({ signal }) => client.request('GET', '/core/v1/metadata', { signal }),
    staleTime: 60_000,
    enabled: may('metadata.read'),
  })
  return query.data?.body ?? unnamed
}
