import type { QueryClient } from '@tanstack/react-query'
import { client } from './client.ts'
import { statusOf } from './errors.ts'
import { reloadMe, type Me } from './me.ts'
import { forgetSession } from './session-state.ts'

/** What opens a session: an access key, a one-time code, or what an identity provider answered. */
export type Credential = { key: string } | { code: string } | { authorization_code: string; code_verifier: string; redirect_uri: string }

/** Exchanges a credential for the session's cookie. */
export async function openSession(credential: Credential, queryClient: QueryClient): Promise<Me> {
  const response = await client.send('POST', '/console/session', { body: credential })
  await response.body?.cancel()
  return reloadMe(queryClient)
}

/** Ends the session on the server, and forgets every answer that it gave. */
export async function endSession(queryClient: QueryClient): Promise<void> {
  await client.send('DELETE', '/console/session').catch((error: unknown) => {
    if (statusOf(error) !== 401) throw error
  })
  forgetSession()
  queryClient.clear()
}
