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
import { keepToken, parseTokenAnswer, toTokenRequest } from '../client-credentials.ts'

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

/** Limit per connection: a server that asks for another scope on each call would never stop. */
const maxWidenings = 8

/**
 * Access tokens of the client credentials grant (RFC 6749, 4.4), from the configured token URL or from the endpoint in the server's
 * metadata (RFC 9728, RFC 8414) on its own origin. A token is requested on demand, and again when it expires or is refused.
 */
export function createClientCredentials(client: ClientCredentials, { serverUrl, fetchFn, onToken }: TokenOptions): Credentials {
  const { tokenUrl, resource = resourceOf(serverUrl) } = client
  /** The endpoint configured by an administrator is used without discovery. */
  let tokenEndpoint: TokenEndpoint | undefined =
    tokenUrl === undefined ? undefined : { endpoint: new URL(tokenUrl), resource, takesBasic: true }
  /** Scopes that the server has asked for. */
  let requestedScopes: string | undefined
  let resourceMetadataUrl: URL | undefined
  let widenings = 0
  const scopeOf = (endpoint: TokenEndpoint | undefined) => client.scope ?? requestedScopes ?? endpoint?.scope

  const kept = keepToken(async () => {
    tokenEndpoint ??= await discover({ serverUrl, fetchFn, resourceMetadataUrl, resource: client.resource })
    const issued = await requestToken(client, { ...tokenEndpoint, scope: scopeOf(tokenEndpoint) }, fetchFn)
    onToken(issued.token)
    return issued
  })

  return {
    async token() {
      return tokenEndpoint && kept.get()
    },
    async onUnauthorized({ response }) {
      const challenge = extractWWWAuthenticateParams(response)
      // A refusal without scopes does not reduce the scopes requested so far.
      requestedScopes = challenge.scope ?? requestedScopes
      resourceMetadataUrl = challenge.resourceMetadataUrl
      kept.forget()
      await kept.renew()
    },
    async widen(response) {
      const { error, scope } = extractWWWAuthenticateParams(response)
      const endpoint = tokenEndpoint
      if (error !== 'insufficient_scope' || scope === undefined || client.scope !== undefined || !endpoint) return undefined
      // A renewal in progress still asks for the previous scopes.
      await kept.settled()
      const wider = computeScopeUnion(scopeOf(endpoint), scope)
      // Another request may have widened the token meanwhile.
      if (!isStrictScopeSuperset(wider, scopeOf(endpoint))) return kept.get()
      if (widenings++ === maxWidenings) return undefined
      requestedScopes = wider
      return kept.renew()
    },
  }
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
  { clientId, clientSecret }: ClientCredentials,
  { endpoint, scope, resource, takesBasic }: TokenEndpoint,
  fetchFn: FetchLike,
): Promise<{ token: string; keepMs: number }> {
  const request = toTokenRequest({ id: clientId, secret: clientSecret }, { scope, resource }, { isInBody: !takesBasic })
  const response = await fetchFn(endpoint, { ...request, redirect: 'error' })
  const { token, keepMs = Infinity, error } = parseTokenAnswer(await response.text().catch(() => ''))
  if (response.ok && token !== undefined) return { token, keepMs }
  const code = error === undefined ? '' : `${error}, `
  throw new Error(`The token endpoint issued no token for the credentials of oauth (${code}status ${response.status}).`)
}
