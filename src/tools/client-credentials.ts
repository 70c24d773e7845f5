import { parseJson } from '../json/shape.ts'

/** The client credentials grant (RFC 6749, 4.4): requests, answers, and a token that is kept. */

/** Time between the renewal and the expiry of a token, so that the token stays valid for the whole request. */
export const leewayMs = 30_000

export interface TokenClient {
  id: string
  secret: string
}

/** A token request. Further fields are `scope` and `resource` (RFC 8707); empty and absent ones are omitted. The credentials are sent in a header (2.3.1) or in the body. */
export function toTokenRequest(
  { id, secret }: TokenClient,
  fields: Readonly<Record<string, string | undefined>>,
  { isInBody }: { isInBody: boolean },
) {
  const body = new URLSearchParams({ grant_type: 'client_credentials' })
  for (const [name, value] of Object.entries(fields)) if (value) body.set(name, value)
  if (isInBody) body.set('client_id', id)
  if (isInBody) body.set('client_secret', secret)
  const headers = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded', 'user-agent': 'agent-core' }
  const authorization = `Basic ${btoa(`${encode(id)}:${encode(secret)}`)}`
  return { method: 'POST', headers: isInBody ? headers : { ...headers, authorization }, body: body.toString() }
}

/** Form encoding of RFC 6749, appendix B. The tilde is not encoded: many secrets contain a tilde, and some servers do not decode. */
function encode(text: string): string {
  return encodeURIComponent(text)
    .replaceAll('%20', '+')
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** The answer of a token endpoint (RFC 6749, 5.1 and 5.2): a token, and how long to keep it where the server states its lifetime; or an error code. */
export function parseTokenAnswer(text: string): { token?: string; keepMs?: number; error?: string } {
  const { access_token: token, expires_in: expiresIn, error } = Object(parseJson(text)) as Record<string, unknown>
  const lifeMs = Number(expiresIn) * 1000
  return {
    ...(typeof token === 'string' && token !== '' && { token }),
    ...(Number.isFinite(lifeMs) && lifeMs > 0 && { keepMs: lifeMs - Math.min(leewayMs, lifeMs / 2) }),
    ...(typeof error === 'string' && { error }),
  }
}

/** Keeps the token of `request` for `keepMs`. Calls at the same time share one request. */
export function keepToken(request: () => Promise<{ token: string; keepMs: number }>) {
  let token: string | undefined
  let until = Infinity
  let renewing: Promise<string> | undefined

  async function fetchToken(): Promise<string> {
    const issued = await request()
    until = Date.now() + issued.keepMs
    return (token = issued.token)
  }

  /** Requests another token. The present one is kept if the request fails. */
  const renew = () => (renewing ??= fetchToken().finally(() => (renewing = undefined)))

  return {
    get: async () => (token === undefined || Date.now() >= until ? renew() : token),
    renew,
    /** Discards a token after a refusal; a newer one is kept. */
    forget(refused = token) {
      if (refused === token) token = undefined
    },
    /** Resolves when no request is in progress. */
    settled: async () => void (await renewing?.catch(() => undefined)),
  }
}
