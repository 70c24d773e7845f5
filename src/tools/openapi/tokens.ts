import type { Outbound } from '../builder.ts'
import { readAtMost } from '../web/fetch-address.ts'
import { toTokenRequest, type TokenClient } from '../token-request.ts'
import { isObject } from '../../json/is-object.ts'

/** Access tokens of the client credentials grant (RFC 6749, 4.4), kept until shortly before they expire. */
export interface Tokens {
  /** `client` is `id:secret`. Throws in words that hold nothing of it. */
  get(url: string, client: string, scopes: readonly string[], signal: AbortSignal): Promise<Token>
}

export interface Token {
  value: string
  /** It was refused: the next call gets another. */
  forget(): void
}

interface Kept {
  value: Promise<string>
  /** Milliseconds; infinite while it is on its way. */
  until: number
}

/** A token that ends while a request is on its way is refused. */
const slackMs = 30_000
/** Where a server does not say (RFC 6749, 5.1). */
const unsaidMs = 300_000
const answerMs = 15_000
const maxBytes = 65_536

export function createTokens({ fetchConfigured }: Pick<Outbound, 'fetchConfigured'>, now: () => number = Date.now): Tokens {
  const kept = new Map<string, Kept>()

  async function fetchToken(url: string, client: string, scopes: readonly string[]): Promise<{ value: string; lifeMs: number }> {
    const failures: string[] = []
    // Both ways are in use; a server that knows the other alone refuses this one.
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

  function start(key: string, url: string, client: string, scopes: readonly string[]): Kept {
    const fetched = fetchToken(url, client, scopes)
    const one: Kept = { value: fetched.then(({ value }) => value), until: Infinity }
    kept.set(key, one)
    fetched.then(
      ({ lifeMs }) => (one.until = now() + lifeMs),
      () => kept.get(key) === one && kept.delete(key),
    )
    return one
  }

  async function get(url: string, client: string, scopes: readonly string[], signal: AbortSignal): Promise<Token> {
    signal.throwIfAborted()
    const key = JSON.stringify([url, client, ...scopes])
    const known = kept.get(key)
    const one = known && known.until > now() ? known : start(key, url, client, scopes)
    try {
      return { value: await one.value, forget: () => kept.get(key) === one && kept.delete(key) }
    } catch (error) {
      const why = error instanceof Error && error.message.startsWith('it answered') ? error.message : 'it could not be reached'
      throw new Error(`No access token was given by ${new URL(url).host}: ${why}.`, { cause: error })
    }
  }

  return { get }
}

/** `id:secret`; an id has no colon. */
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
  const lifeMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : unsaidMs
  return { value, lifeMs: Math.max(0, lifeMs - Math.min(slackMs, lifeMs / 2)) }
}
