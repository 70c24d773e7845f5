import type { Outbound } from '../builder.ts'
import { keepToken, leewayMs, parseTokenAnswer, toTokenRequest, type TokenClient } from '../client-credentials.ts'
import { readAtMost } from '../web/fetch-address.ts'

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

/** Lifetime when the server sends no `expires_in` (RFC 6749, 5.1). */
const defaultLifeSeconds = 300
const answerMs = 15_000
const maxBytes = 65_536

export function createTokens({ fetchConfigured }: Pick<Outbound, 'fetchConfigured'>): Tokens {
  const tokens = new Map<string, ReturnType<typeof keepToken>>()

  async function fetchToken(url: string, client: string, scopes: readonly string[]): Promise<{ token: string; keepMs: number }> {
    const failures: string[] = []
    // Some servers accept the client secret only in a header, others only in the body.
    for (const isInBody of [false, true]) {
      const request = toTokenRequest(toClient(client), { scope: scopes.join(' ') }, { isInBody })
      const response = await fetchConfigured(url, { ...request, redirect: 'manual', signal: AbortSignal.timeout(answerMs) })
      const { bytes } = await readAtMost(response, maxBytes)
      const { token, seconds } = parseTokenAnswer(new TextDecoder().decode(bytes))
      const lifeMs = (seconds ?? defaultLifeSeconds) * 1000
      if (response.ok && token !== undefined) return { token, keepMs: lifeMs - Math.min(leewayMs, lifeMs / 2) }
      failures.push(String(response.status))
      if (response.status !== 400 && response.status !== 401) break
    }
    throw new Error(`it answered ${failures.join(', then ')}`)
  }

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

/** Splits `id:secret`; an id contains no colon. */
function toClient(text: string): TokenClient {
  const colon = text.indexOf(':')
  return { id: text.slice(0, colon), secret: text.slice(colon + 1) }
}
