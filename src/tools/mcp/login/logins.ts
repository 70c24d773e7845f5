import { setTimeout as sleep } from 'node:timers/promises'
import { refreshAuthorization, type FetchLike, OAuthError, OAuthErrorCode } from '@modelcontextprotocol/client'
import type { Login, LoginKey, LoginStore, StoredLogin } from '../../../configuration/mcp/login-store.ts'
import { oauthMs } from '../bounded-messages.ts'
import type { LoginClient } from '../server.ts'

/** The login of one server. */
export interface Logins {
  store: LoginStore
  key: LoginKey
}

/** The server requires the login of a person: there is none, or the service cannot renew its token. */
class LoginRequired extends Error {
  override readonly name = 'LoginRequired'
}

export function noLogin(entry: string): LoginRequired {
  return new LoginRequired(`The server requires a login (401): run "${loginCommand(entry)}", or set headers or oauth.`)
}

export function loginEnded(entry: string): LoginRequired {
  return new LoginRequired(`The login at the server has ended: run "${loginCommand(entry)}" again.`)
}

/** `scope`: what the server requires, on one line. */
export function scopeMissing(entry: string, scope: string): LoginRequired {
  return new LoginRequired(
    `The server requires the scopes ${scope} for this request (403), which the login does not have: run "${loginCommand(entry)}" again.`,
  )
}

function loginCommand(entry: string): string {
  return `agent-core tool login ${entry}`
}

/** The error in a chain of causes; undefined when no login is missing. */
export function findLoginRequired(error: unknown): LoginRequired | undefined {
  if (error instanceof LoginRequired) return error
  return error instanceof Error ? findLoginRequired(error.cause) : undefined
}

interface RenewOptions {
  logins: Logins
  client: LoginClient | undefined
  fetchFn: FetchLike
  now(): number
}

/** Longer than a request to the authorization server takes, so that two processes never renew a token at the same time. */
const renewalMs = oauthMs + 5000
/** Interval at which the other processes look for the renewed token. */
const pollMs = 200

/**
 * Renews a login whose access token is `refused`, and returns the stored login afterwards; undefined when the login is gone. A single
 * process renews, and the rest wait for the result: authorization servers revoke a login whose refresh token is used twice. A login
 * that cannot be renewed is stored as over. Rejects when the authorization server cannot be reached.
 */
export async function renewLogin(refused: string, options: RenewOptions): Promise<Login | undefined> {
  const { logins, now } = options
  const { store, key } = logins
  for (;;) {
    const stored = await store.find(key)
    if (!stored || stored.login.isOver || stored.login.accessToken !== refused) return stored?.login
    if ((stored.login.renewingUntil ?? 0) > now()) {
      await sleep(pollMs)
      continue
    }
    const claimed: Login = { ...stored.login, renewingUntil: now() + renewalMs }
    const revision = await store.save(key, claimed, stored.revision)
    if (revision !== undefined) return renewClaimed({ login: claimed, revision }, options)
  }
}

async function renewClaimed({ login, revision }: StoredLogin, { logins, client, fetchFn, now }: RenewOptions): Promise<Login> {
  const { store, key } = logins
  const { renewingUntil: _, ...before } = login
  let renewed: Login
  try {
    renewed = await refresh(before, client, { fetchFn, now })
  } catch (error) {
    const isOver = error instanceof OAuthError && finalErrors.has(error.code)
    const after: Login = isOver ? { ...before, isOver: true } : before
    await store.save(key, after, revision)
    if (isOver) return after
    throw new Error('The login could not be renewed: the authorization server did not answer as expected.', { cause: error })
  }
  await store.save(key, renewed, revision)
  return renewed
}

/** Errors of RFC 6749, 5.2 that no repetition changes. */
const finalErrors: ReadonlySet<string> = new Set([
  OAuthErrorCode.InvalidGrant,
  OAuthErrorCode.InvalidClient,
  OAuthErrorCode.UnauthorizedClient,
  OAuthErrorCode.InvalidScope,
])

async function refresh(
  login: Login,
  client: LoginClient | undefined,
  { fetchFn, now }: Pick<RenewOptions, 'fetchFn' | 'now'>,
): Promise<Login> {
  const { authorizationServer, refreshToken, resource } = login
  if (refreshToken === undefined) return { ...login, isOver: true }
  const tokens = await refreshAuthorization(authorizationServer.issuer, {
    metadata: toMetadata(login),
    clientInformation: clientOf(login, client),
    refreshToken,
    ...(resource !== undefined && { resource }),
    fetchFn,
  })
  return { ...login, ...toTokens(tokens, now()), refreshToken: tokens.refresh_token ?? refreshToken }
}

/** The client of a login. A configured secret may have changed since the login. */
function clientOf({ client }: Login, configured: LoginClient | undefined) {
  const secret = configured?.clientId === client.id ? configured.clientSecret : client.secret
  return {
    client_id: client.id,
    ...(secret !== undefined && { client_secret: secret }),
    ...(client.authMethod !== undefined && { token_endpoint_auth_method: client.authMethod }),
  }
}

function toMetadata({ authorizationServer }: Login) {
  const { issuer, tokenEndpoint, authMethods } = authorizationServer
  return {
    issuer,
    token_endpoint: tokenEndpoint,
    authorization_endpoint: issuer,
    response_types_supported: ['code'],
    ...(authMethods && { token_endpoint_auth_methods_supported: authMethods }),
  }
}

/** The token of an answer (RFC 6749, 5.1), as stored. */
export function toTokens(
  { access_token, expires_in, scope }: { access_token: string; expires_in?: number | undefined; scope?: string | undefined },
  now: number,
): Pick<Login, 'accessToken' | 'expiresAt' | 'scope'> {
  const tokens = { accessToken: access_token, ...(scope !== undefined && { scope }) }
  return expires_in !== undefined && expires_in > 0 ? { ...tokens, expiresAt: now + expires_in * 1000 } : tokens
}

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
