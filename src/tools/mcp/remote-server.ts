import type { ClientCredentials } from './client-credentials.ts'
import type { LoginClient } from './login/login-client.ts'

/** A server at an address, with resolved secrets. */
export interface RemoteServer {
  url: URL
  headers: Readonly<Record<string, string>>
  oauth?: ClientCredentials
  /** How a person logs in; the login itself is stored. */
  login?: LoginClient
}

/** True for a server with configured credentials, which take precedence over a login. */
export function hasOwnCredentials({ headers, oauth }: Pick<RemoteServer, 'headers' | 'oauth'>): boolean {
  return oauth !== undefined || Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
}
