import { Agent, fetch, Headers, type RequestInit, type Response } from 'undici'

type Fetch = (url: string, init?: RequestInit) => Promise<Response>

export interface ConfiguredFetch {
  fetch: Fetch
  close(): Promise<void>
}

/** As browsers do; more is a loop. */
const maxRedirects = 5

/** All that another origin is told of a request: nothing that an administrator or a caller has put on it. */
const plainHeaders: ReadonlySet<string> = new Set(['accept', 'accept-language', 'content-type', 'user-agent'])

/** The origin that an administrator has configured is reached wherever it is; what it redirects to elsewhere goes through `guarded`. */
export function createConfiguredFetch(guarded: Fetch): ConfiguredFetch {
  const agent = new Agent({ allowH2: false })

  async function follow(url: string, init: RequestInit = {}): Promise<Response> {
    const { origin } = new URL(url)
    let [at, request] = [url, init]
    for (let redirects = 0; ; redirects++) {
      const isOwn = new URL(at).origin === origin
      const options = { ...request, redirect: 'manual' as const }
      const response = await (isOwn ? fetch(at, { ...options, dispatcher: agent }) : guarded(at, options))
      const location = response.headers.get('location')
      if (![301, 302, 303, 307, 308].includes(response.status) || location === null || init.redirect === 'manual') return response
      await response.body?.cancel()
      if (redirects === maxRedirects) throw new TypeError('fetch failed', { cause: new Error('too many redirects') })
      const next = new URL(location, at)
      request = redirected(request, response.status, next.origin === new URL(at).origin)
      at = next.href
    }
  }

  return { fetch: follow, close: () => agent.destroy() }
}

/** Fetch standard, HTTP-redirect fetch. */
function redirected(request: RequestInit, status: number, isSameOrigin: boolean): RequestInit {
  const headers = new Headers(request.headers)
  const isPost = request.method?.toUpperCase() === 'POST'
  const becomesGet = status === 303 || (isPost && status < 303)
  if (becomesGet) for (const name of ['content-type', 'content-length']) headers.delete(name)
  if (!isSameOrigin) for (const name of [...headers.keys()]) if (!plainHeaders.has(name)) headers.delete(name)
  const { body, method, ...rest } = request
  return { ...rest, headers, ...(becomesGet ? { method: 'GET' } : { ...(method && { method }), ...(body && { body }) }) }
}
