/** The configured part of a person's login, with resolved secrets. */
export interface LoginClient {
  /** Id of a registered client; absent: the service registers itself. */
  clientId?: string
  clientSecret?: string
  /** Address of a client id metadata document, the id of the client where the authorization server supports such ids. */
  clientMetadataUrl?: string
  /** The only authorization server that is accepted. */
  issuer?: string
  /** Replaces the scopes that the server asks for. */
  scope?: string
}
