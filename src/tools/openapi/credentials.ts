import { resolveReferences, type Environment } from '../../configuration/references.ts'
import type { Outbound } from '../builder.ts'
import { keepToken, parseTokenAnswer, toTokenRequest, type TokenClient } from '../client-credentials.ts'
import { readAtMost } from '../web/fetch-address.ts'
import { isFieldName, isFieldValue, isSecretHeader } from '../web/request-headers.ts'
import type { Api, Operation, SecurityScheme } from './api.ts'
import type { Request } from './request.ts'

export interface CredentialOptions {
  /** Credentials by scheme, as configured, with unresolved references. */
  credentials: Readonly<Record<string, string>>
  /** Headers that are always sent, as configured, with unresolved references. */
  headers: Readonly<Record<string, string>>
  environment: Environment
  tokens: Tokens
}

/** Secrets added to a request, to be masked in every output. */
interface SignedRequest {
  secrets: string[]
  /** Discards the tokens, so that the next call fetches new ones; false when the request used no token. */
  renew(): boolean
}

/** Throws when the configuration has an invalid header name, or credentials for a scheme that is unknown or not supported. */
export function checkCredentials({ schemes }: Api, { credentials, headers }: Pick<CredentialOptions, 'credentials' | 'headers'>): void {
  const invalidName = Object.keys(headers).find((name) => !isFieldName(name))
  if (invalidName !== undefined) throw new Error(`headers: ${JSON.stringify(invalidName)} is not the name of a header.`)
  for (const name of Object.keys(credentials)) {
    const scheme = Object.hasOwn(schemes, name) ? schemes[name] : undefined
    const schemeNames = Object.keys(schemes).join(', ') || 'none'
    if (!scheme) throw new Error(`credentials: the document has no security scheme ${name}; it has ${schemeNames}.`)
    if (scheme.type === 'other') throw new Error(`credentials: the security scheme ${name} (${scheme.called}) is not supported.`)
  }
}

/** Adds the configured headers, and the credentials that the operation needs, to a request. */
export async function sign(
  request: Request,
  { operation, schemes }: { operation: Operation; schemes: Api['schemes'] },
  { credentials, headers, environment, tokens }: CredentialOptions,
  signal: AbortSignal,
): Promise<SignedRequest> {
  const secrets: string[] = []
  const renewals: (() => void)[] = []
  const resolve = (value: string, name: string, isSecret: boolean) => {
    const resolved = resolveReferences(value, environment)
    if (isSecret) secrets.push(resolved)
    if (!isFieldValue(resolved)) throw new Error(`The value configured for ${name} contains characters that cannot be sent in a header.`)
    return resolved
  }
  for (const [name, value] of Object.entries(headers))
    request.headers[name.toLowerCase()] = resolve(value, name, isSecretHeader(name, value))
  for (const [name, scopes] of Object.entries(chooseRequirement(operation, credentials))) {
    const scheme = schemes[name]!
    const value = resolve(credentials[name]!, name, true)
    const token =
      scheme.type === 'clientCredentials' && value.includes(':') ? await tokens.get(scheme.tokenUrl, value, scopes, signal) : undefined
    if (token !== undefined) {
      secrets.push(token.value)
      renewals.push(token.forget)
    }
    secrets.push(...applyCredential(request, scheme, token?.value ?? value))
  }
  return {
    secrets,
    renew() {
      for (const forget of renewals) forget()
      return renewals.length > 0
    },
  }
}

/** The first requirement with all credentials configured. All configured credentials when the document defines no security at all. */
function chooseRequirement({ security }: Operation, credentials: Readonly<Record<string, string>>): Record<string, string[]> {
  if (!security) return Object.fromEntries(Object.keys(credentials).map((name) => [name, []]))
  const isConfigured = (alternative: Record<string, string[]>) => Object.keys(alternative).every((name) => Object.hasOwn(credentials, name))
  const possible = security.filter(isConfigured)
  // An empty requirement ("no credentials") is chosen last.
  return possible.find((requirement) => Object.keys(requirement).length > 0) ?? {}
}

/** Adds a credential to a request, and returns further secrets derived from the value. */
function applyCredential(request: Request, scheme: SecurityScheme, value: string): string[] {
  if (scheme.type === 'apiKey') {
    if (scheme.in === 'header') request.headers[scheme.name.toLowerCase()] = value
    // Appended as text: `searchParams` would encode the existing parameters again.
    if (scheme.in === 'query')
      request.url.search += `${request.url.search === '' ? '' : '&'}${encodeURIComponent(scheme.name)}=${encodeURIComponent(value)}`
    if (scheme.in === 'cookie') request.cookies.push(`${scheme.name}=${encodeURIComponent(value)}`)
    return []
  }
  const basic = scheme.type === 'basic' ? Buffer.from(value).toString('base64') : undefined
  request.headers['authorization'] = basic === undefined ? `Bearer ${value.replace(/^Bearer /i, '')}` : `Basic ${basic}`
  // In `user:password`, the password alone is a secret too.
  return basic === undefined ? [] : [basic, value.slice(value.indexOf(':') + 1)]
}

interface Token {
  value: string
  /** Discards the token after a refusal; the next `get` fetches a new token. */
  forget(): void
}

/** Milliseconds that a token is kept when the server sends no `expires_in` (RFC 6749, 5.1). */
const defaultKeepMs = 270_000
const answerMs = 15_000
const maxBytes = 65_536

/** Access tokens of the client credentials grant (RFC 6749, 4.4), kept until shortly before they expire. */
export function createTokens({ fetchConfigured }: Pick<Outbound, 'fetchConfigured'>) {
  const tokens = new Map<string, ReturnType<typeof keepToken>>()

  async function fetchToken(url: string, client: string, scopes: readonly string[]): Promise<{ token: string; keepMs: number }> {
    const failures: string[] = []
    // Some servers accept the client secret only in a header, others only in the body.
    for (const isInBody of [false, true]) {
      const request = toTokenRequest(toClient(client), { scope: scopes.join(' ') }, { isInBody })
      const response = await fetchConfigured(url, { ...request, redirect: 'manual', signal: AbortSignal.timeout(answerMs) })
      const { bytes } = await readAtMost(response, maxBytes)
      const { token, keepMs = defaultKeepMs } = parseTokenAnswer(new TextDecoder().decode(bytes))
      if (response.ok && token !== undefined) return { token, keepMs }
      failures.push(String(response.status))
      if (response.status !== 400 && response.status !== 401) break
    }
    throw new Error(`it answered ${failures.join(', then ')}`)
  }

  /** Returns a cached or new token. `client` is `id:secret`. Throws an `Error` without secrets in its message. */
  async function get(url: string, client: string, scopes: readonly string[], signal: AbortSignal): Promise<Token> {
    signal.throwIfAborted()
    const key = JSON.stringify([url, client, ...scopes])
    const token = tokens.get(key) ?? keepToken(() => fetchToken(url, client, scopes))
    tokens.set(key, token)
    try {
      const value = await token.get()
      return { value, forget: () => token.forget(value) }
    } catch (error) {
      const reason = error instanceof Error && error.message.startsWith('it answered') ? error.message : 'it could not be reached'
      throw new Error(`No access token was issued by ${new URL(url).host}: ${reason}.`, { cause: error })
    }
  }

  return { get }
}

type Tokens = ReturnType<typeof createTokens>

/** Splits `id:secret`; an id contains no colon. */
function toClient(text: string): TokenClient {
  const colon = text.indexOf(':')
  return { id: text.slice(0, colon), secret: text.slice(colon + 1) }
}
