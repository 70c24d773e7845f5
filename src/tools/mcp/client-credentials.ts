import {
  assertSecureTokenEndpoint,
  checkResourceAllowed,
  discoverOAuthServerInfo,
  extractWWWAuthenticateParams,
  type AuthProvider,
  type FetchLike,
} from '@modelcontextprotocol/client'
import { toTokenRequest } from '../token-request.ts'

export interface ClientCredentials {
  clientId: string
  clientSecret: string
  scope?: string
  /** Where the server does not tell of its own. */
  tokenUrl?: string
}

/** Where tokens are had for one server. */
interface TokenPlace {
  endpoint: URL
  /** RFC 8707: whom the token is for. */
  resource?: string
  scope?: string
  takesBasic: boolean
}

interface TokenOptions {
  serverUrl: URL
  fetchFn: FetchLike
  onToken(token: string): void
}

/** A token is renewed before it ends: it has to last as long as the request takes. */
const leewayMs = 30_000

/**
 * Access tokens by the client's own credentials (RFC 6749, 4.4): from the configured address, or where the server says by its
 * metadata (RFC 9728, RFC 8414) that it gives them itself. Had when they are wanted, and again when they end or are refused.
 */
export function createClientCredentials(client: ClientCredentials, { serverUrl, fetchFn, onToken }: TokenOptions): AuthProvider {
  let place: TokenPlace | undefined = client.tokenUrl === undefined ? undefined : configuredPlace(client.tokenUrl)
  let token: string | undefined
  let endsAt = Infinity
  let renewing: Promise<void> | undefined

  async function renew(known: TokenPlace): Promise<void> {
    const answer = await requestToken(client, known, fetchFn)
    token = answer.token
    onToken(token)
    endsAt = answer.seconds === undefined ? Infinity : Date.now() + answer.seconds * 1000
  }

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
      token = undefined
      await renewOnce(() => place ?? discover(serverUrl, fetchFn, { ...(resourceMetadataUrl && { resourceMetadataUrl }), scope }))
    },
  }
}

/** An administrator's address is taken as it is. */
function configuredPlace(tokenUrl: string): TokenPlace {
  return { endpoint: new URL(tokenUrl), takesBasic: true }
}

async function discover(serverUrl: URL, fetchFn: FetchLike, told: { resourceMetadataUrl?: URL; scope?: string }): Promise<TokenPlace> {
  const { resourceMetadataUrl } = told
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
    ...(resourceMetadata && { resource: resourceMetadata.resource }),
    scope: told.scope ?? resourceMetadata?.scopes_supported?.join(' '),
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
  const fields = { scope: client.scope ?? place.scope, resource: place.resource }
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
