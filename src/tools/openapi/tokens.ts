import type { Outbound } from '../builder.ts'
import { readAtMost } from '../web/fetch-address.ts'
import { toTokenRequest, type TokenClient } from '../token-request.ts'
import { isObject } from '../../json/shape.ts'

/** Access tokens of the client credentials grant (RFC 6749, 4.4), kept until shortly before they expire. */
export interface Tokens {
  /** Returns a cached or new token. `client` is `id:secret`. Throws an `Error` without secrets in its message. */
  get(url: string, client: string, scopes: readonly string[], signal: AbortSignal): Promise<Token>
}

export interface Token {
  value: string
  /** Discards the token after a refusal; the next `get` fetches a new token. */
  forget(): void
}

interface CachedToken {
  value: Promise<string>
  /** Expiry in epoch milliseconds; infinite while the token is being fetched. */
  until: number
}

/** Safety margin: a token must not expire while a request is in flight. */
const slackMs = 30_000
/** Lifetime when the server sends no `expires_in` (RFC 6749, 5.1). */
const defaultLifeMs = 300_000
const answerMs = 15_000
const maxBytes = 65_536

export function createTokens({ fetchConfigured }: Pick<Outbound, 'fetchConfigured'>, now: () => number = Date.now): Tokens {
  const cachedTokens = new Map<string, CachedToken>()

  async function fetchToken(url: string, client: string, scopes: readonly string[]): Promise<{ value: string; lifeMs: number }> {
    const failures: string[] = []
    // Some servers accept the client secret only in a header, others only in the body.
    for (const isInBody of [false, true]) {
      const request = toTokenRequest(toClient(client), { scope: scopes.join(' ') }, { isInBody })
      const response = await fetchConfigured(url, { ...request, redirect: 'manual', signal: AbortSignal.timeout(answerMs) })
      const { bytes } = await readAtMost(response, maxBytes)
      const answer = response.ok ? parse(bytes) : undefined
      if (answer && typeof answer['access_token'] === 'string') return toToken(answer['access_token'], answer['expires_in'])
      failures.push(String(response.status))
      if (response.status !== 400 && response.status !== 401) break
    }
    throw new Error(`it answered ${failures.join(', then ')}`)
  }

  function start(key: string, url: string, client: string, scopes: readonly string[]): CachedToken {
    const fetched = fetchToken(url, client, scopes)
    const entry: CachedToken = { value: fetched.then(({ value }) => value), until: Infinity }
    cachedTokens.set(key, entry)
    fetched.then(
      ({ lifeMs }) => (entry.until = now() + lifeMs),
      () => cachedTokens.get(key) === entry && cachedTokens.delete(key),
    )
    return entry
  }

  async function get(url: string, client: string, scopes: readonly string[], signal: AbortSignal): Promise<Token> {
    signal.throwIfAborted()
    const key = JSON.stringify([url, client, ...scopes])
    const cached = cachedTokens.get(key)
    const entry = cached && cached.until > now() ? cached : start(key, url, client, scopes)
    try {
      return { value: await entry.value, forget: () => cachedTokens.get(key) === entry && cachedTokens.delete(key) }
    } catch (error) {
      const reason = error instanceof Error && error.message.startsWith('it answered') ? error.message : 'it could not be reached'
      throw new Error(`No access token was issued by ${new URL(url).host}: ${reason}.`, { cause: error })
    }
  }

  return { get }
}

/** Splits `id:secret`; an id contains no colon. */
function toClient(text: string): TokenClient {
  const colon = text.indexOf(':')
  return { id: text.slice(0, colon), secret: text.slice(colon + 1) }
}

function parse(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const data: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return isObject(data) ? data : undefined
  } catch {
    return undefined
  }
}

function toToken(value: string, expiresIn: unknown): { value: string; lifeMs: number } {
  const seconds = Number(expiresIn)
  const lifeMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : defaultLifeMs
  return { value, lifeMs: Math.max(0, lifeMs - Math.min(slackMs, lifeMs / 2)) }
}
