import { Headers, type RequestInit, type Response } from 'undici'

export interface OutboundInit extends RequestInit {
  /**
   * Asked about each address before it is gone to, those of redirects included: what it answers with are headers for this address
   * alone, in place of others of the same name; a throw ends the whole. `hasLeft`: another origin was on the way.
   */
  headersFor?(url: URL, hasLeft: boolean): Readonly<Record<string, string>>
}

/** `hasLeft`: another origin was on the way, whoever now names an address is not who was asked. */
export type Send = (url: URL, init: RequestInit, hasLeft: boolean) => Promise<Response>

/** As many as nobody needs; more is a loop. */
const maxRedirects = 5

/** All that another origin is told of a request: nothing that an administrator, a caller or a model has put on it. */
const plainHeaders: ReadonlySet<string> = new Set(['accept', 'accept-language', 'content-type', 'user-agent'])

/** Fetch standard, request-body-header name. */
const bodyHeaders = ['content-encoding', 'content-language', 'content-location', 'content-type', 'content-length']

/**
 * Follows redirects by the fetch standard (HTTP-redirect fetch), and gives less to other origins than it does. What was dropped on the
 * way does not come back, where the way leads back either.
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
      { ...request, headers: withOwn(request.headers, headersFor?.(at, hasLeft)), redirect: 'manual' },
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

function withOwn(headers: RequestInit['headers'], own: Readonly<Record<string, string>> = {}): Headers {
  const all = new Headers(headers)
  for (const [name, value] of Object.entries(own)) all.set(name, value)
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
  if (isSpent(body)) throw failed('a body that is a stream can not be sent again')
  return { ...rest, headers, method, ...(body != null && { body }) }
}

function isSpent(body: RequestInit['body']): boolean {
  return typeof body === 'object' && body !== null && (body instanceof ReadableStream || Symbol.asyncIterator in body)
}

/** A server may write what is not ASCII as it is: its bytes are UTF-8. */
function toUrl(location: string, base: URL): URL {
  const text = Buffer.from(location, 'latin1').toString('utf8')
  if (!URL.canParse(text, base.href)) throw failed('redirected to what is no address')
  return new URL(text, base)
}

/** As `fetch` fails. */
function failed(why: string): TypeError {
  return new TypeError('fetch failed', { cause: new Error(why) })
}
