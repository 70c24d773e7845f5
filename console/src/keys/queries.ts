import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { client, type Reply, type RequestOptions } from '../api/client.ts'
import type { Page } from '../parts/pages/page.ts'
import { usePages } from '../parts/pages/use-pages.ts'

export type AccessKey = Reply<'GET', '/core/v1/keys'>['keys'][number]
export type CreatedKey = Reply<'POST', '/core/v1/keys'>
export type NewKey = RequestOptions<'POST', '/core/v1/keys'>['body']
export type Role = Reply<'GET', '/core/v1/roles'>['roles'][number]

const listKey = ['keys'] as const

/** The keys of the tenant, newest first. */
export function useKeys() {
  return usePages<AccessKey>({
    queryKey: listKey,
    load: async (before, signal): Promise<Page<AccessKey>> => {
      const { keys, offset, has_more } = await client.request('GET', '/core/v1/keys', { query: { before }, signal })
      return { rows: keys, offset, has_more }
    },
    idOf: ({ jti }) => jti,
    isLive: true,
  })
}

/** Roles with permissions, built-in roles first. */
export function useRoles() {
  return useQuery({
    queryKey: ['roles'],
    queryFn: async ({ signal }) => (await client.request('GET', '/core/v1/roles', { signal })).roles,
    staleTime: 60_000,
  })
}

/** Creates a key. The reply has the key itself: it is not kept once its dialog is closed. */
export function useCreateKey() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: NewKey) => client.request('POST', '/core/v1/keys', { body }),
    onSuccess: () => void queryClient.invalidateQueries({ queryKey: listKey }),
    gcTime: 0,
  })
}

/** Revokes a key. All processes refuse it within 5 seconds. */
export function useRevokeKey() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ jti }: AccessKey) => client.request('DELETE', '/core/v1/keys/{jti}', { path: { jti } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: listKey }),
  })
}
