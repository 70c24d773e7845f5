import { client } from '../api/client.ts'
import { serviceUrl } from '../api/address.ts'

/** Address and client id for signing in at the identity provider. */
export interface IdentityProvider {
  authorize_url: string
  client_id: string
  scope: string
}

export interface SignInOptions {
  /** Null where the service has none, or cannot reach it. */
  identity_provider: IdentityProvider | null
  is_provider_away: boolean
}

export async function loadSignInOptions(signal: AbortSignal): Promise<SignInOptions> {
  const response = await client.send('GET', '/console/sign-in-options', { signal })
  return (await response.json()) as SignInOptions
}

/** Content of `sessionStorage` while the user is at the identity provider. */
interface PendingSignIn {
  state: string
  verifier: string
  /** Path of the console that the user came from. */
  next: string
}

const storageKey = 'agent-core:sign-in'
const redirectUri = serviceUrl('console/sign-in')

/** True if the browser can compute a PKCE challenge, which requires https or this machine. */
export const canUseProvider = window.isSecureContext

/** Leaves for the identity provider: authorization code flow with PKCE (RFC 7636, S256). */
export async function goToProvider({ authorize_url, client_id, scope }: IdentityProvider, next: string): Promise<void> {
  const pending: PendingSignIn = { state: randomText(), verifier: randomText(), next }
  sessionStorage.setItem(storageKey, JSON.stringify(pending))
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(pending.verifier))
  const address = new URL(authorize_url)
  const parameters = {
    response_type: 'code',
    client_id,
    redirect_uri: redirectUri,
    scope,
    state: pending.state,
    code_challenge: toBase64Url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value)
  location.assign(address)
}

export type ProviderReply =
  | { credential: { authorization_code: string; code_verifier: string; redirect_uri: string }; next: string }
  | { fault: string; next: string }

/** Reads what the identity provider sent back with the user; undefined for a page that was opened otherwise. */
export function readProviderReply(search: URLSearchParams): ProviderReply | undefined {
  const code = search.get('code')
  const error = search.get('error')
  if (code === null && error === null) return undefined
  const pending = takePending()
  const next = pending?.next ?? '/'
  // Anybody can write such a link: without the state, the code and the text are ignored.
  if (!pending || search.get('state') !== pending.state) return { fault: 'This sign-in was not begun in this tab. Begin it again.', next }
  if (error !== null) return { fault: `The identity provider refused the sign-in: ${search.get('error_description') ?? error}`, next }
  return { credential: { authorization_code: code!, code_verifier: pending.verifier, redirect_uri: redirectUri }, next }
}

function takePending(): PendingSignIn | undefined {
  const text = sessionStorage.getItem(storageKey)
  sessionStorage.removeItem(storageKey)
  return text === null ? undefined : (JSON.parse(text) as PendingSignIn)
}

/** 256 random bits. */
function randomText(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)))
}

function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
