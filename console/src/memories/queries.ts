import { useMutation, useQueryClient, type InfiniteData } from '@tanstack/react-query'
import { client, type Reply } from '../api/client.ts'
import type { Page } from '../parts/pages/page.ts'
import { usePages } from '../parts/pages/use-pages.ts'

export type Memory = Reply<'GET', '/core/v1/memories'>['memories'][number]

const pageLength = 50
const listKey = ['memories'] as const

/** Memories about the caller, newest first. */
export function useMemories() {
  return usePages<Memory>({ queryKey: listKey, load: loadPage, idOf: ({ id }) => id, isLive: true })
}

async function loadPage(before: string | undefined, signal: AbortSignal): Promise<Page<Memory>> {
  const { memories } = await client.request('GET', '/core/v1/memories', { query: { limit: pageLength, before }, signal })
  return { rows: memories, offset: memories.at(-1)?.id ?? '', has_more: memories.length === pageLength }
}

/** Deletes a memory, and takes it out of the loaded pages. */
export function useDeleteMemory() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ id }: Memory) => client.request('DELETE', '/core/v1/memories/{id}', { path: { id } }),
    onSuccess: (_reply, { id }) =>
      queryClient.setQueryData<InfiniteData<Page<Memory>>>(
        listKey,
        (data) => data && { ...data, pages: data.pages.map((page) => ({ ...page, rows: page.rows.filter((row) => row.id !== id) })) },
      ),
  })
}
