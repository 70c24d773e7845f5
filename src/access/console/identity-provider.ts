import { ServiceError } from '../../errors.ts'

/** How users sign in at the identity provider: authorization code flow with PKCE (RFC 6749, RFC 7636). */
export interface ProviderSignInSettings {
  /** The issuer, whose `/.well-known/openid-configuration` names addresses that are not configured. */
  issuer: string
  clientId: string
  /** Undefined: a public client. */
  clientSecret: string | undefined
  scope: string
  authorizeUrl: string | undefined
  tokenUrl: string | undefined
}

/** What the page needs to send a user to the identity provider. */
export interface SignInOptions {
  /** May have a query. The page adds the parameters of the code flow. */
  authorizeUrl: string
  clientId: string
  scope: string
}

/** What the identity provider gave to the page, and what the page began with. */
export interface AuthorizationCode {
  authorizationCode: string
  codeVerifier: string
  redirectUri: string
}

export interface IdentityProvider {
  /** Throws `overloaded` when the provider cannot be reached. */
  options(): Promise<SignInOptions>
  /** Exchanges a code for tokens, the access token first. Throws `unauthorized` for a refused code, `overloaded` when the provider cannot be reached. */
  exchange(code: AuthorizationCode): Promise<string[]>
}

/** A subset of `fetch`, with whole answers. */
export type FetchText = (
  url: string,
  init: { method: 'GET' | 'POST'; headers: Record<string, string>; body?: string },
) => Promise<{ status: number; text: string }>

export interface IdentityProviderDependencies {
  fetchText: FetchText
  /** Epoch milliseconds. */
  now(): number
  onError(error: unknown): void
}

interface Endpoints {
  authorizeUrl: string
  tokenUrl: string
}

const discoveryMs = 10 * 60_000
/** After a failed discovery the provider is not asked again for this long. */
const pauseMs = 5000
/** Exchanges at a time: callers without a key cannot use the service to flood the provider. */
const maxExchanges = 20

export function createIdentityProvider(settings: ProviderSignInSettings, deps: IdentityProviderDependencies): IdentityProvider {
  const { fetchText, onError } = deps
  const findEndpoints = createDiscovery(settings, deps)
  let exchanges = 0

  async function requestTokens({ tokenUrl }: Endpoints, code: AuthorizationCode): Promise<string[]> {
    const { headers, fields } = credentialsOf(settings)
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      code: code.authorizationCode,
      code_verifier: code.codeVerifier,
      redirect_uri: code.redirectUri,
      ...fields,
    }).toString()
    const type = 'application/x-www-form-urlencoded'
    const request = { method: 'POST', headers: { ...headers, accept: 'application/json', 'content-type': type }, body } as const
    const { status, text } = await fetchText(tokenUrl, request).catch((error: unknown) => {
      onError(error)
      throw unreachable(error)
    })
    if (status >= 500 || status === 429) throw unreachable()
    const reply = parseObject(text)
    if (status !== 200) throw refused(reply?.['error'])
    const tokens = [reply?.['access_token'], reply?.['id_token']].filter((token) => typeof token === 'string')
    if (tokens.length === 0) throw unreachable()
    return tokens
  }

  return {
    async options() {
      const { authorizeUrl } = await findEndpoints()
      return { authorizeUrl, clientId: settings.clientId, scope: settings.scope }
    },
    async exchange(code) {
      if (exchanges >= maxExchanges) throw new ServiceError('overloaded', 'Too many sign-ins at the same time.', { retryAfter: 2 })
      exchanges += 1
      try {
        return await requestTokens(await findEndpoints(), code)
      } finally {
        exchanges -= 1
      }
    },
  }
}

/** Finds the endpoints: as configured, or by OpenID Connect Discovery 1.0. */
function createDiscovery(settings: ProviderSignInSettings, { fetchText, now, onError }: IdentityProviderDependencies) {
  const { issuer, authorizeUrl, tokenUrl } = settings
  let discovered: { endpoints: Promise<Endpoints>; until: number } | undefined

  async function discover(): Promise<Endpoints> {
    const address = `${issuer.replace(/(?<!\/)\/+$/, '')}/.well-known/openid-configuration`
    const { status, text } = await fetchText(address, { method: 'GET', headers: { accept: 'application/json' } })
    const metadata = status === 200 ? parseObject(text) : undefined
    if (metadata?.['issuer'] !== issuer) throw new Error(`${address} does not describe the issuer ${issuer} (status ${status}).`)
    const { authorization_endpoint: authorize, token_endpoint: token } = metadata
    if (!isHttpAddress(authorize) || !isHttpAddress(token)) throw new Error(`${address} names no endpoints.`)
    return { authorizeUrl: authorize, tokenUrl: token }
  }

  return async (): Promise<Endpoints> => {
    if (authorizeUrl !== undefined && tokenUrl !== undefined) return { authorizeUrl, tokenUrl }
    if (!discovered || now() >= discovered.until) {
      const current = { endpoints: discover(), until: now() + discoveryMs }
      discovered = current
      current.endpoints.catch((error: unknown) => {
        current.until = now() + pauseMs
        onError(error)
      })
    }
    return discovered.endpoints.catch((error: unknown) => {
      throw unreachable(error)
    })
  }
}

/** A confidential client authenticates by HTTP Basic, which every provider must support (RFC 6749, 2.3.1). */
function credentialsOf({ clientId, clientSecret }: ProviderSignInSettings): {
  headers: Record<string, string>
  fields: Record<string, string>
} {
  if (clientSecret === undefined) return { headers: {}, fields: { client_id: clientId } }
  const [user, password] = [clientId, clientSecret].map((text) => new URLSearchParams({ '': text }).toString().slice(1))
  return { headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` }, fields: {} }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function isHttpAddress(value: unknown): value is string {
  return typeof value === 'string' && /^https?:$/.test(URL.parse(value)?.protocol ?? '')
}

/** `reason` is an error code of RFC 6749, 5.2; other texts of the provider are not shown. */
function refused(reason: unknown): ServiceError {
  const code = typeof reason === 'string' && /^[a-z_]{1,50}$/.test(reason) ? ` (${reason})` : ''
  return new ServiceError('unauthorized', `The identity provider refused the sign-in${code}. Sign in again.`)
}

function unreachable(cause?: unknown): ServiceError {
  return new ServiceError('overloaded', 'The identity provider cannot be reached; the sign-in could not be completed.', {
    cause,
    retryAfter: 5,
  })
}
