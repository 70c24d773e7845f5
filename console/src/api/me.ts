import { useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query'
import { consolePath } from './address.ts'
import { client, type Reply } from './client.ts'
import { noteSession } from './session-state.ts'

export type Me = Awaited<ReturnType<typeof loadMe>>

export const meKey = ['me'] as const

async function loadMe(signal?: AbortSignal) {
  const me: Reply<'GET', '/core/v1/me'> & { csrf_token?: string } = await client.request('GET', '/core/v1/me', { signal })
  if (!noteSession(callerOf(me), me.csrf_token)) await startOver()
  return me
}

/** Names a caller: drafts belong to one. */
export function callerOf({ tenant, issuer, sub }: { tenant: string; issuer: string; sub: string }): string {
  return JSON.stringify([tenant, issuer, sub])
}

/** Loads the first page of the console: nothing that this page holds or names may be seen or sent by another caller. */
function startOver(): Promise<never> {
  location.replace(`${consolePath}/`)
  return new Promise(() => undefined)
}

/** The signed-in caller and the caller's permissions. */
export function useMe() {
  return useQuery({ queryKey: meKey, queryFn: ({ signal }) => loadMe(signal), staleTime: 60_000 })
}

/** Tells whether the signed-in caller has a permission. False while this is not known yet. */
export function useMay(): (permission: string) => boolean {
  const cache = useQueryClient()
  const me = useMe().data ?? cache.getQueryData<Me>(meKey)
  return (permission) => me?.permissions.includes(permission) ?? false
}

/** Asks anew who is signed in, after a session was opened or replaced. */
export function reloadMe(queryClient: QueryClient): Promise<Me> {
  return queryClient.fetchQuery({ queryKey: meKey, queryFn: ({ signal }) => loadMe(signal), staleTime: 0 })
}
