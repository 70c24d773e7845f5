import type { QueryClient } from '@tanstack/react-query'
import { serviceUrl } from './address.ts'
import { reloadMe, type Me } from './me.ts'
import { serviceFetch } from './service-fetch.ts'
import { forgetSession } from './session-state.ts'

/** What opens a session: an access key, a one-time code, or what an identity provider answered. */
export type Credential = { key: string } | { code: string } | { authorization_code: string; code_verifier: string; redirect_uri: string }

/** Exchanges a credential for the session's cookie. Throws an `Error` with the service's text. */
export async function openSession(credential: Credential, queryClient: QueryClient): Promise<Me> {
  const response = await fetch(serviceUrl('console/session'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(credential),
    credentials: 'same-origin',
  })
  if (!response.ok) throw new Error(await textOf(response))
  return reloadMe(queryClient)
}

/** Ends the session on the server, and forgets every answer that it gave. */
export async function endSession(queryClient: QueryClient): Promise<void> {
  const response = await serviceFetch(serviceUrl('console/session'), { method: 'DELETE' })
  if (!response.ok && response.status !== 401) throw new Error(await textOf(response))
  forgetSession()
  queryClient.clear()
}

async function textOf(response: Response): Promise<string> {
  const fallback = `The service answered ${response.status}.`
  try {
    const { body, detail } = (await response.json()) as { body?: unknown; detail?: { msg?: unknown }[] }
    if (typeof body === 'string') return body
    const text = detail?.[0]?.msg
    return typeof text === 'string' ? text : fallback
  } catch {
    return fallback
  }
}
