import { Headers, type RequestInit, type Response } from 'undici'

export interface OutboundInit extends RequestInit {
  /**
   * Called for each URL before the request, including redirects. Returns headers for this URL alone, which replace
   * others of the same name; a throw ends the whole request. `hasLeft`: a redirect led to another origin before.
   */
  headersFor?(url: URL, hasLeft: boolean): Readonly<Record<string, string>>
}

/** `hasLeft`: a redirect led to another origin before, so the URL was not chosen by the original target. */
export type Send = (url: URL, init: RequestInit, hasLeft: boolean) => Promise<Response>

/** More redirects are a loop. */
const maxRedirects = 5

/** The only headers sent to another origin: none set by an administrator, a caller or a model. */
const plainHeaders: ReadonlySet<string> = new Set(['accept', 'accept-language', 'content-type', 'user-agent'])

/** Fetch standard, request-body-header name. */
const bodyHeaders = ['content-encoding', 'content-language', 'content-location', 'content-type', 'content-length']

/**
 * Follows redirects by the fetch standard (HTTP-redirect fetch), but sends less to other origins. Dropped headers stay
 * dropped, even when a redirect leads back.
 */
export async function followRedirects(url: string, init: OutboundInit, send: Send): Promise<Response> {
  const { headersFor, ...rest } = init
  let request: RequestInit = rest
  let at = new URL(url)
  let hasLeft = false
  for (let redirects = 0; ; redirects++) {
    if (!/^https?:$/.test(at.protocol)) throw failed('only http and https are spoken')
    const response = await send(
      at,
      { ...request, headers: withExtra(request.headers, headersFor?.(at, hasLeft)), redirect: 'manual' },
      hasLeft,
    )
    const location = response.headers.get('location')
    if (init.redirect === 'manual' || location === null || ![301, 302, 303, 307, 308].includes(response.status)) return response
    await response.body?.cancel()
    if (init.redirect === 'error') throw failed('unexpected redirect')
    if (redirects === maxRedirects) throw failed('too many redirects')
    const next = toUrl(location, at)
    const isSameOrigin = next.origin === at.origin
    request = redirected(request, response.status, isSameOrigin)
    hasLeft ||= !isSameOrigin
    at = next
  }
}

function withExtra(headers: RequestInit['headers'], extra: Readonly<Record<string, string>> = {}): Headers {
  const all = new Headers(headers)
  for (const [name, value] of Object.entries(extra)) all.set(name, value)
  return all
}

function redirected(request: RequestInit, status: number, isSameOrigin: boolean): RequestInit {
  const { body, method = 'GET', ...rest } = request
  const headers = new Headers(request.headers)
  const verb = method.toUpperCase()
  const becomesGet = status === 303 ? verb !== 'GET' && verb !== 'HEAD' : status < 303 && verb === 'POST'
  if (becomesGet) for (const name of bodyHeaders) headers.delete(name)
  if (!isSameOrigin) for (const name of [...headers.keys()]) if (!plainHeaders.has(name)) headers.delete(name)
  if (becomesGet) return { ...rest, headers, method: 'GET' }
  if (isSpent(body)) throw failed('a body that is a stream cannot be sent again')
  return { ...rest, headers, method, ...(body != null && { body }) }
}

function isSpent(body: RequestInit['body']): boolean {
  return typeof body === 'object' && body !== null && (body instanceof ReadableStream || Symbol.asyncIterator in body)
}

/** A server may send non-ASCII characters unescaped: the bytes are UTF-8. */
function toUrl(location: string, base: URL): URL {
  const text = Buffer.from(location, 'latin1').toString('utf8')
  if (!URL.canParse(text, base.href)) throw failed('redirected to an invalid address')
  return new URL(text, base)
}

/** An error in the form of `fetch`. */
function failed(reason: string): TypeError {
  return new TypeError('fetch failed', { cause: new Error(reason) })
}
