import { randomBytes } from 'node:crypto'
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  OAuthTokens,
  StoredOAuthClientInformation,
} from '@modelcontextprotocol/client'
import type { LoginClient } from '../server.ts'

/** The state of one login for the client library, in memory. */
export class LoginProvider implements OAuthClientProvider {
  readonly redirectUrl: string
  readonly clientMetadataUrl?: string
  readonly ownState = randomBytes(24).toString('base64url')
  /** Address at which the person logs in. */
  authorizationUrl: URL | undefined
  tokensReceived: OAuthTokens | undefined
  information: StoredOAuthClientInformation | undefined
  resource: string | undefined
  discovered: OAuthDiscoveryState
  /** PKCE, RFC 7636. */
  verifier = ''

  constructor(redirectUrl: string, { clientId, clientSecret, clientMetadataUrl }: LoginClient, discovered: OAuthDiscoveryState) {
    this.redirectUrl = redirectUrl
    this.discovered = discovered
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl
    const issuer = discovered.authorizationServerMetadata?.issuer ?? discovered.authorizationServerUrl
    if (clientId !== undefined)
      this.information = { client_id: clientId, issuer, ...(clientSecret !== undefined && { client_secret: clientSecret }) }
  }

  /** For the registration of a client. */
  get clientMetadata(): OAuthClientMetadata {
    return {
      client_name: 'Agent Core',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: authMethodOf(this.discovered),
    }
  }

  state() {
    return this.ownState
  }

  clientInformation() {
    return this.information
  }

  saveClientInformation(information: StoredOAuthClientInformation) {
    this.information = information
  }

  /** A login always asks the person, also where an earlier login could be renewed. */
  tokens() {
    return undefined
  }

  saveTokens(tokens: OAuthTokens) {
    this.tokensReceived = tokens
  }

  redirectToAuthorization(url: URL) {
    this.authorizationUrl = url
  }

  saveCodeVerifier(verifier: string) {
    this.verifier = verifier
  }

  codeVerifier() {
    return this.verifier
  }

  discoveryState() {
    return this.discovered
  }

  saveDiscoveryState(state: OAuthDiscoveryState) {
    this.discovered = state
  }

  saveResourceUrl(resource: string) {
    this.resource = resource
  }
}

/** A client without a secret where the server allows that. A server without a list of methods takes `client_secret_basic` (RFC 8414). */
function authMethodOf({ authorizationServerMetadata }: OAuthDiscoveryState): string {
  const methods = authorizationServerMetadata?.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  return ['none', 'client_secret_basic', 'client_secret_post'].find((method) => methods.includes(method)) ?? 'none'
}
