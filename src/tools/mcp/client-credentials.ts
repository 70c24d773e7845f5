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
  /** Wins over what the server asks for. */
  scope?: string
  /** Where the server does not tell of its own. */
  tokenUrl?: string
  /** Replaces the server's address as the resource that tokens are for; empty: requests name none. */
  resource?: string
}

/** Where tokens are had for one server. */
interface TokenPlace {
  endpoint: URL
  /** RFC 8707: whom the token is for. */
  resource: string
  /** Scopes that the server's metadata lists. */
  scope?: string
  takesBasic: boolean
}

interface TokenOptions {
  serverUrl: URL
  fetchFn: FetchLike
  onToken(token: string): void
}

/** What the transport asks for tokens. */
export interface Credentials extends AuthProvider {
  /** A token with the scopes that a 403 response asks for beyond those requested; undefined where another token would not help. */
  widen(response: Response): Promise<string | undefined>
}

/** A token is renewed before it ends: it has to last as long as the request takes. */
const leewayMs = 30_000

/** Per connection. A server that names another scope for each call asks without end. */
const maxWidenings = 8

/**
 * Access tokens by the client's own credentials (RFC 6749, 4.4): from the configured address, or where the server says by its
 * metadata (RFC 9728, RFC 8414) that it gives them itself. Had when they are wanted, and again when they end or are refused.
 */
export function createClientCredentials(client: ClientCredentials, { serverUrl, fetchFn, onToken }: TokenOptions): Credentials {
  const ownResource = client.resource ?? resourceOf(serverUrl)
  let place = client.tokenUrl === undefined ? undefined : configuredPlace(client.tokenUrl, ownResource)
  /** Scopes that the server has asked for. */
  let asked: string | undefined
  let token: string | undefined
  let endsAt = Infinity
  let renewing: Promise<void> | undefined
  let widenings = 0

  async function renew(known: TokenPlace): Promise<void> {
    const answer = await requestToken(client, { ...known, scope: scopeOf(known) }, fetchFn)
    token = answer.token
    onToken(token)
    endsAt = answer.seconds === undefined ? Infinity : Date.now() + answer.seconds * 1000
  }

  const scopeOf = (at: TokenPlace | undefined) => client.scope ?? asked ?? at?.scope

  /** Requests that are refused at the same time wait for one new token. */
  const renewOnce = (find: () => TokenPlace | Promise<TokenPlace>) =>
    (renewing ??= (async () => renew((place = await find())))().finally(() => (renewing = undefined)))

  return {
    async token() {
      const known = place
      if (known && (token === undefined || Date.now() > endsAt - leewayMs)) await renewOnce(() => known)
      return token
    },
    async onUnauthorized({ response }) {
      const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
      // A server that refuses a token without naming scopes asks for no fewer than before.
      asked = scope ?? asked
      token = undefined
      await renewOnce(() => place ?? discover({ serverUrl, fetchFn, resourceMetadataUrl, resource: client.resource }))
    },
    async widen(response) {
      const { error, scope } = extractWWWAuthenticateParams(response)
      const known = place
      if (error !== 'insufficient_scope' || scope === undefined || client.scope !== undefined || !known) return undefined
      // A renewal that is under way asks for the scopes of before.
      await renewing?.catch(() => undefined)
      const wider = computeScopeUnion(scopeOf(known), scope)
      // Another request may have widened the token meanwhile.
      if (!isStrictScopeSuperset(wider, scopeOf(known))) return token
      if (widenings++ === maxWidenings) return undefined
      asked = wider
      await renewOnce(() => known)
      return token
    },
  }
}

/** An administrator's address is taken as it is. */
function configuredPlace(tokenUrl: string, resource: string): TokenPlace {
  return { endpoint: new URL(tokenUrl), resource, takesBasic: true }
}

/** The canonical URI of an MCP server. Its query may hold a key, and is nothing that a token could be for. */
function resourceOf({ origin, pathname }: URL): string {
  return pathname === '/' ? origin : origin + pathname
}

interface Discovery {
  serverUrl: URL
  fetchFn: FetchLike
  resourceMetadataUrl: URL | undefined
  /** The configured resource. */
  resource: string | undefined
}

async function discover({ serverUrl, fetchFn, resourceMetadataUrl, resource }: Discovery): Promise<TokenPlace> {
  const found = await discoverOAuthServerInfo(serverUrl, { fetchFn, ...(resourceMetadataUrl && { resourceMetadataUrl }) })
  const { authorizationServerMetadata: metadata, resourceMetadata } = found
  // A server must not get hold of a token for another one.
  if (resourceMetadata && !checkResourceAllowed({ requestedResource: serverUrl, configuredResource: resourceMetadata.resource })) {
    throw new Error('The server tells of another resource than its own; set oauth.token_url.')
  }
  if (!metadata) throw new Error('The server does not tell where its tokens are had; set oauth.token_url.')
  const methods = metadata.token_endpoint_auth_methods_supported
  const endpoint = assertSecureTokenEndpoint(metadata.token_endpoint)
  // Whoever has the secret is its client everywhere: where it goes is not for the server to say.
  if (endpoint.origin !== serverUrl.origin)
    throw new Error(
      `The server tells of tokens at another place than its own: where that is right, set oauth.token_url to ${endpoint.href}`,
    )
  return {
    endpoint,
    resource: resource ?? resourceMetadata?.resource ?? resourceOf(serverUrl),
    scope: resourceMetadata?.scopes_supported?.join(' '),
    // RFC 8414: the default.
    takesBasic: methods === undefined || methods.includes('client_secret_basic'),
  }
}

async function requestToken(
  client: ClientCredentials,
  place: TokenPlace,
  fetchFn: FetchLike,
): Promise<{ token: string; seconds?: number }> {
  const { clientId, clientSecret } = client
  const fields = { scope: place.scope, resource: place.resource }
  const request = toTokenRequest({ id: clientId, secret: clientSecret }, fields, { isInBody: !place.takesBasic })
  const response = await fetchFn(place.endpoint, { ...request, redirect: 'error' })
  const answer: unknown = await response.json().catch(() => undefined)
  const { access_token: token, expires_in: seconds, error } = Object(answer) as Record<string, unknown>
  if (response.ok && typeof token === 'string' && token !== '') {
    return { token, ...(Number(seconds) > 0 && { seconds: Number(seconds) }) }
  }
  const code = typeof error === 'string' ? `${error}, ` : ''
  throw new Error(`No token was given for the credentials of oauth (${code}status ${response.status}).`)
}
