import type { FetchLike } from '@modelcontextprotocol/client'
import type { Login } from '../../../configuration/tool-logins/login-store.ts'
import type { LoginClient } from './login-client.ts'
import { clientOf } from './renew.ts'

/**
 * Revokes the tokens of a login at the authorization server (RFC 7009). False when the server offers no revocation, refuses it or cannot
 * be reached: the login is then forgotten by this service alone.
 */
export async function revokeLogin(login: Login, client: LoginClient | undefined, fetchFn: FetchLike): Promise<boolean> {
  const { revocationEndpoint } = login.authorizationServer
  if (revocationEndpoint === undefined) return false
  const { client_id, client_secret } = clientOf(login, client)
  const token: [string, string] =
    login.refreshToken === undefined ? [login.accessToken, 'access_token'] : [login.refreshToken, 'refresh_token']
  const body = new URLSearchParams({ token: token[0], token_type_hint: token[1], client_id })
  if (client_secret !== undefined) body.set('client_secret', client_secret)
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
  try {
    const response = await fetchFn(revocationEndpoint, { method: 'POST', headers, body: body.toString(), redirect: 'error' })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}
