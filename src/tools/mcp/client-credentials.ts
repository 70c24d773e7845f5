import {
  assertSecureTokenEndpoint,
  checkResourceAllowed,
  computeScopeUnion,
  discoverOAuthServerInfo,
  extractWWWAuthenticateParams,
  isStrictScopeSuperset,
  type AuthProvider,
  type FetchLike,
} from '@modelcontextprotocol/client'
import { toTokenRequest } from '../token-request.ts'

export interface ClientCredentials {
  clientId: string
  clientSecret: string
  /** Replaces the scopes that the server asks for. */
  scope?: string
  /** Token endpoint, required when the server does not publish its own. */
  tokenUrl?: string
  /** Value of `resource` in token requests, instead of the server's address; empty: no `resource` is sent. */
  resource?: string
}

/** The token endpoint for one server. */
interface TokenEndpoint {
  endpoint: URL
  /** The resource of the token (RFC 8707). */
  resource: string
  /** Scopes listed in the server's metadata. */
  scope?: string
  takesBasic: boolean
}

export interface TokenOptions {
  serverUrl: URL
  fetchFn: FetchLike
  onToken(token: string): void
}

/** Provides the transport with tokens. */
export interface Credentials extends AuthProvider {
  /** A token with the additional scopes that a 403 response asks for; undefined when another token would not help. */
  widen(response: Response): Promise<string | undefined>
}

/** A token is renewed this long before its expiry, so that it stays valid for the whole request. */
const leewayMs = 30_000

/** Limit per connection: a server that asks for another scope on each call would never stop. */
const maxWidenings = 8

/**
 * Access tokens of the client credentials grant (RFC 6749, 4.4), from the configured token URL or from the endpoint in the server's
 * metadata (RFC 9728, RFC 8414) on its own origin. A token is requested on demand, and again when it expires or is refused.
 */
export function createClientCredentials(client: ClientCredentials, { serverUrl, fetchFn, onToken }: TokenOptions): Credentials {
  const defaultResource = client.resource ?? resourceOf(serverUrl)
  let tokenEndpoint = client.tokenUrl === undefined ? undefined : configuredEndpoint(client.tokenUrl, defaultResource)
  /** Scopes that the server has asked for. */
  let requestedScopes: string | undefined
  let token: string | undefined
  let endsAt = Infinity
  let renewing: Promise<void> | undefined
  let widenings = 0

  async function renew(endpoint: TokenEndpoint): Promise<void> {
    const answer = await requestToken(client, { ...endpoint, scope: scopeOf(endpoint) }, fetchFn)
    token = answer.token
    onToken(token)
    endsAt = answer.seconds === undefined ? Infinity : Date.now() + answer.seconds * 1000
  }

  const scopeOf = (endpoint: TokenEndpoint | undefined) => client.scope ?? requestedScopes ?? endpoint?.scope

  /** Requests that are refused at the same time share one renewal. */
  const renewOnce = (find: () => TokenEndpoint | Promise<TokenEndpoint>) =>
    (renewing ??= (async () => renew((tokenEndpoint = await find())))().finally(() => (renewing = undefined)))

  return {
    async token() {
      const endpoint = tokenEndpoint
      if (endpoint && (token === undefined || Date.now() > endsAt - leewayMs)) await renewOnce(() => endpoint)
      return token
    },
    async onUnauthorized({ response }) {
      const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
      // A refusal without scopes does not reduce the scopes requested so far.
      requestedScopes = scope ?? requestedScopes
      token = undefined
      await renewOnce(() => tokenEndpoint ?? discover({ serverUrl, fetchFn, resourceMetadataUrl, resource: client.resource }))
    },
    async widen(response) {
      const { error, scope } = extractWWWAuthenticateParams(response)
      const endpoint = tokenEndpoint
      if (error !== 'insufficient_scope' || scope === undefined || client.scope !== undefined || !endpoint) return undefined
      // A renewal in progress still asks for the previous scopes.
      await renewing?.catch(() => undefined)
      const wider = computeScopeUnion(scopeOf(endpoint), scope)
      // Another request may have widened the token meanwhile.
      if (!isStrictScopeSuperset(wider, scopeOf(endpoint))) return token
      if (widenings++ === maxWidenings) return undefined
      requestedScopes = wider
      await renewOnce(() => endpoint)
      return token
    },
  }
}

/** The endpoint configured by an administrator, used without discovery. */
function configuredEndpoint(tokenUrl: string, resource: string): TokenEndpoint {
  return { endpoint: new URL(tokenUrl), resource, takesBasic: true }
}

/** The canonical URI of an MCP server, without the query: a query may contain a key and is not part of the resource. */
export function resourceOf({ origin, pathname }: URL): string {
  return pathname === '/' ? origin : origin + pathname
}

interface Discovery {
  serverUrl: URL
  fetchFn: FetchLike
  resourceMetadataUrl: URL | undefined
  /** The configured resource. */
  resource: string | undefined
}

async function discover({ serverUrl, fetchFn, resourceMetadataUrl, resource }: Discovery): Promise<TokenEndpoint> {
  const serverInfo = await discoverOAuthServerInfo(serverUrl, { fetchFn, ...(resourceMetadataUrl && { resourceMetadataUrl }) })
  const { authorizationServerMetadata: metadata, resourceMetadata } = serverInfo
  // A server must not obtain a token for another server.
  if (resourceMetadata && !checkResourceAllowed({ requestedResource: serverUrl, configuredResource: resourceMetadata.resource })) {
    throw new Error('The metadata of the server names a resource on another server; set oauth.token_url.')
  }
  if (!metadata) throw new Error('The server does not publish a token endpoint; set oauth.token_url.')
  const methods = metadata.token_endpoint_auth_methods_supported
  const endpoint = assertSecureTokenEndpoint(metadata.token_endpoint)
  // A server must not decide where the client secret is sent: with the secret, another server could impersonate the client everywhere.
  if (endpoint.origin !== serverUrl.origin)
    throw new Error(
      `The server names a token endpoint on another origin; if the endpoint is right, set oauth.token_url to ${endpoint.href}`,
    )
  return {
    endpoint,
    resource: resource ?? resourceMetadata?.resource ?? resourceOf(serverUrl),
    scope: resourceMetadata?.scopes_supported?.join(' '),
    // Default of RFC 8414: `client_secret_basic`.
    takesBasic: methods === undefined || methods.includes('client_secret_basic'),
  }
}

async function requestToken(
  client: ClientCredentials,
  tokenEndpoint: TokenEndpoint,
  fetchFn: FetchLike,
): Promise<{ token: string; seconds?: number }> {
  const { clientId, clientSecret } = client
  const fields = { scope: tokenEndpoint.scope, resource: tokenEndpoint.resource }
  const request = toTokenRequest({ id: clientId, secret: clientSecret }, fields, { isInBody: !tokenEndpoint.takesBasic })
  const response = await fetchFn(tokenEndpoint.endpoint, { ...request, redirect: 'error' })
  const answer: unknown = await response.json().catch(() => undefined)
  const { access_token: token, expires_in: seconds, error } = Object(answer) as Record<string, unknown>
  if (response.ok && typeof token === 'string' && token !== '') {
    return { token, ...(Number(seconds) > 0 && { seconds: Number(seconds) }) }
  }
  const code = typeof error === 'string' ? `${error}, ` : ''
  throw new Error(`The token endpoint issued no token for the credentials of oauth (${code}status ${response.status}).`)
}
