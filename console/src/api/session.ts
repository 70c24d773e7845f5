import type { QueryClient } from '@tanstack/react-query'
import { client } from './client.ts'
import { statusOf } from './errors.ts'
import { callerOf, meKey, reloadMe, type Me } from './me.ts'
import { createDrafts } from './drafts.ts'
import { forgetSession } from './session-state.ts'

/** A credential that opens a session: an access key, a one-time code, or the answer of an identity provider. */
export type Credential = { key: string } | { code: string } | { authorization_code: string; code_verifier: string; redirect_uri: string }

/** Exchanges a credential for the session's cookie. With `isReplacing`, every answer that an earlier session gave is forgotten. */
export async function openSession(
  credential: Credential,
  queryClient: QueryClient,
  { isReplacing }: { isReplacing: boolean },
): Promise<Me> {
  const response = await client.send('POST', '/console/session', { body: credential })
  await response.body?.cancel()
  if (isReplacing) {
    forgetSession()
    queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== meKey[0] })
  }
  return reloadMe(queryClient)
}

/** Ends the session on the server, and removes the drafts and cached answers of the session. */
export async function endSession(queryClient: QueryClient): Promise<void> {
  await client.send('DELETE', '/console/session').catch((error: unknown) => {
    if (statusOf(error) !== 401) throw error
  })
  const me = queryClient.getQueryData<Me>(meKey)
  if (me) createDrafts(localStorage, callerOf(me)).clear()
  forgetSession()
  queryClient.clear()
}
