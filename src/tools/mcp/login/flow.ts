import { timingSafeEqual } from 'node:crypto'
import {
  auth,
  computeScopeUnion,
  discoverOAuthServerInfo,
  exchangeAuthorization,
  extractWWWAuthenticateParams,
  type FetchLike,
  type OAuthServerInfo,
  type OAuthTokens,
} from '@modelcontextprotocol/client'
import type { AuthorizationServer, Login } from '../../../configuration/mcp/login-store.ts'
import { resourceOf } from '../client-credentials.ts'
import type { LoginClient, RemoteServer } from '../server.ts'
import { toTokens } from './logins.ts'
import { LoginProvider } from './provider.ts'

interface LoginOptions {
  server: RemoteServer
  /** Address on the loopback interface to which the authorization server sends the browser. */
  redirectUrl: string
  /** Scopes that the server has asked for since the last login. */
  missingScope: string | undefined
  fetchFn: FetchLike
  /**
   * Shows the address at which the person logs in, and resolves with the query of the first redirect for which `isReply` is true: any page
   * of the computer can call the address on the loopback interface.
   */
  authorize(url: URL, isReply: (query: URLSearchParams) => boolean): Promise<URLSearchParams>
  now(): number
}

/** Reason for an operator why a login failed. */
class LoginFailure extends Error {
  override readonly name = 'LoginFailure'
}

/**
 * Logs a person in at the authorization server of an MCP server: authorization code with PKCE (OAuth 2.1), after discovery by RFC 9728 and
 * RFC 8414. The client is the configured one, a client id metadata document, or registered for this login (RFC 7591). Rejects with
 * `LoginFailure`, or an error of the client library.
 */
export async function logIn(options: LoginOptions): Promise<Login> {
  const { server, fetchFn, missingScope } = options
  const { url, login: client = {} } = server
  const challenge = await requestChallenge(server, fetchFn)
  const scope = client.scope ?? computeScopeUnion(challenge.scope, missingScope)
  const { resourceMetadataUrl } = challenge
  const serverInfo = await discoverOAuthServerInfo(url, { fetchFn, ...(resourceMetadataUrl && { resourceMetadataUrl }) })
  assertIssuer(issuerOf(serverInfo), client, url)
  const provider = new LoginProvider(options.redirectUrl, client, {
    ...serverInfo,
    ...(resourceMetadataUrl && { resourceMetadataUrl: resourceMetadataUrl.href }),
  })
  const common = { serverUrl: resourceOf(url), fetchFn, ...(scope !== undefined && { scope }) }
  await auth(provider, common)
  const { authorizationUrl } = provider
  if (!authorizationUrl) throw new LoginFailure('The authorization server has no address for a login.')
  const isReply = (query: URLSearchParams) => hasState(query, provider.ownState)
  const reply = await options.authorize(authorizationUrl, isReply)
  if (!isReply(reply)) throw new LoginFailure('The answer belongs to another login.')
  provider.tokensReceived = await exchangeCode(provider, reply, fetchFn)
  return toLogin(provider, { url: resourceOf(url), requestedScope: authorizationUrl.searchParams.get('scope'), now: options.now() })
}

async function exchangeCode(
  { discovered, information, resource, verifier, redirectUrl }: LoginProvider,
  reply: URLSearchParams,
  fetchFn: FetchLike,
): Promise<OAuthTokens> {
  const authorizationCode = codeOf(reply)
  const iss = reply.get('iss')
  const { authorizationServerUrl, authorizationServerMetadata: metadata } = discovered
  if (!information) throw new LoginFailure('The authorization server has not registered this service.')
  return exchangeAuthorization(authorizationServerUrl, {
    ...(metadata && { metadata }),
    clientInformation: information,
    authorizationCode,
    ...(iss !== null && { iss }),
    codeVerifier: verifier,
    redirectUri: redirectUrl,
    ...(resource !== undefined && { resource }),
    fetchFn,
  })
}

interface Challenge {
  scope?: string
  resourceMetadataUrl?: URL
}

/** Requests of both protocols: a server may let everyone connect, and ask for a login at the first request after that. */
const probes = ['server/discover', 'initialize', 'tools/list']

/** Sends requests without a token. The first refusal says which scopes are needed, and where the metadata is. */
async function requestChallenge({ url, headers }: RemoteServer, fetchFn: FetchLike): Promise<Challenge> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'agent-core', version: '1' } }
  for (const method of probes) {
    const response = await fetchFn(url, {
      method: 'POST',
      headers: { ...headers, accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      redirect: 'error',
    })
    await response.body?.cancel()
    if (response.status === 401) return extractWWWAuthenticateParams(response)
  }
  return {}
}

/** True for an answer to this login: the authorization server repeats the state in errors too (RFC 6749, 4.1.2.1). */
function hasState(query: URLSearchParams, expected: string): boolean {
  const [a, b] = [Buffer.from(query.get('state') ?? ''), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function codeOf(reply: URLSearchParams): string {
  const [code, error] = [reply.get('code'), reply.get('error')]
  if (error !== null)
    throw new LoginFailure(`The authorization server refused the login: ${describe(error, reply.get('error_description'))}`)
  if (!code) throw new LoginFailure('The answer of the authorization server has no code.')
  return code
}

function describe(error: string, description: string | null): string {
  const text = description === null ? error : `${error}, ${description}`
  return text.replace(/[^\x20-\x7e]/g, ' ').slice(0, 300)
}

function issuerOf({ authorizationServerMetadata, authorizationServerUrl }: OAuthServerInfo): string {
  return authorizationServerMetadata?.issuer ?? authorizationServerUrl
}

/** A server must not decide where a configured secret is sent: with the secret, another server could impersonate the client everywhere. */
function assertIssuer(issuer: string, client: LoginClient, serverUrl: URL): void {
  const withoutSlash = (address: string) => address.replace(/\/$/, '')
  if (client.issuer !== undefined) {
    if (withoutSlash(client.issuer) === withoutSlash(issuer)) return
    throw new LoginFailure(`The server names the authorization server ${issuer}, and login.issuer is ${client.issuer}.`)
  }
  if (client.clientSecret !== undefined && new URL(issuer).origin !== serverUrl.origin)
    throw new LoginFailure(`The server names an authorization server on another origin; if it is right, set login.issuer to ${issuer}`)
}

function toLogin(
  { tokensReceived, discovered, information, resource }: LoginProvider,
  { url, requestedScope, now }: { url: string; requestedScope: string | null; now: number },
): Login {
  const metadata = discovered.authorizationServerMetadata
  if (!tokensReceived || !information) throw new LoginFailure('The authorization server issued no token.')
  const tokenEndpoint = metadata?.token_endpoint ?? new URL('/token', discovered.authorizationServerUrl).href
  // The metadata of OpenID Connect has no type for this member of RFC 8414.
  const { revocation_endpoint: revocationEndpoint } = Object(metadata) as Record<string, unknown>
  const authorizationServer: AuthorizationServer = {
    issuer: issuerOf(discovered),
    tokenEndpoint,
    ...(typeof revocationEndpoint === 'string' && { revocationEndpoint }),
    ...(metadata?.token_endpoint_auth_methods_supported && { authMethods: metadata.token_endpoint_auth_methods_supported }),
  }
  return {
    url,
    authorizationServer,
    client: toClient(information),
    ...(resource !== undefined && { resource }),
    // An answer without scopes grants the requested ones (RFC 6749, 5.1).
    ...(requestedScope !== null && { scope: requestedScope }),
    ...toTokens(tokensReceived, now),
    ...(tokensReceived.refresh_token !== undefined && { refreshToken: tokensReceived.refresh_token }),
    loggedInAt: now,
  }
}

function toClient(information: NonNullable<LoginProvider['information']>): Login['client'] {
  const { client_secret: secret, token_endpoint_auth_method: authMethod } = information as Record<string, unknown>
  return {
    id: information.client_id,
    ...(typeof secret === 'string' && { secret }),
    ...(typeof authMethod === 'string' && { authMethod }),
  }
}
