import { StreamableHTTPClientTransport, type FetchLike } from '@modelcontextprotocol/client'
import type { Outbound } from '../builder.ts'
import { boundResponse } from './bounded-body.ts'
import { createClientCredentials, type ClientCredentials } from './client-credentials.ts'
import { limits } from './limits.ts'

/** A server at an address, secrets resolved. */
export interface RemoteServer {
  url: URL
  headers: Readonly<Record<string, string>>
  oauth?: ClientCredentials
}

export interface HttpOptions {
  outbound: Outbound
  /** Of a request and its answer. */
  timeoutMs: number
  onTooLong(why: string): void
  /** Tokens are secrets too. */
  onToken(token: string): void
}

/** Of what an authorization server says. */
const oauthBytes = 1024 * 1024
const oauthMs = 15_000

/** A stream that ended is opened again, whatever pause the server asks for, as long as the connection lasts. */
const reconnection = { initialReconnectionDelay: 1000, maxReconnectionDelay: 30_000, reconnectionDelayGrowFactor: 2, maxRetries: 4 }

/** Streamable HTTP, with nothing unbounded. Redirects stay within the origin: elsewhere, nobody is to get the calls or their context. */
export function createHttpTransport(
  server: RemoteServer,
  { outbound, timeoutMs, onTooLong, onToken }: HttpOptions,
): StreamableHTTPClientTransport {
  const { url, headers, oauth } = server
  const configured = new Set([url.origin, ...(oauth?.tokenUrl === undefined ? [] : [new URL(oauth.tokenUrl).origin])])

  /** An address that only the server names is held to the rules for such. */
  async function send(target: string | URL, init: RequestInit | undefined, limit: { bytes: number; ms?: number }): Promise<Response> {
    const address = new URL(target)
    const headers = Object.fromEntries(new Headers(init?.headers))
    const timeout = limit.ms === undefined ? [] : [AbortSignal.timeout(limit.ms)]
    const signal = AbortSignal.any([...(init?.signal ? [init.signal] : []), ...timeout])
    const { method = 'GET', body, redirect = 'follow' } = init ?? {}
    const request = { method, headers, redirect, signal, ...(typeof body === 'string' && { body }) }
    const fetch = configured.has(address.origin) ? outbound.fetchConfigured : outbound.fetch
    return boundResponse(await fetch(address.href, request), limit.bytes, onTooLong)
  }

  const oauthFetch: FetchLike = (target, init) => send(target, init, { bytes: oauthBytes, ms: oauthMs })
  const credentials = oauth && createClientCredentials(oauth, { serverUrl: url, fetchFn: oauthFetch, onToken })

  /** A request that needs more scopes than its token has is made once more, with a token for these. */
  const sendAuthorized: FetchLike = async (target, init) => {
    const limit = { bytes: limits.messageBytes, ...(lasts(init) ? {} : { ms: timeoutMs }) }
    const response = await send(target, init, limit)
    const token = response.status === 403 ? await credentials?.widen(response) : undefined
    if (token === undefined) return response
    await response.body?.cancel()
    const headers = new Headers(init?.headers)
    headers.set('authorization', `Bearer ${token}`)
    return send(target, { ...init, headers }, limit)
  }

  return new StreamableHTTPClientTransport(url, {
    requestInit: { headers },
    fetch: sendAuthorized,
    reconnectionOptions: reconnection,
    reconnectionScheduler: (reconnect, delay) => {
      const timer = setTimeout(reconnect, Math.max(delay, reconnection.initialReconnectionDelay)).unref()
      return () => clearTimeout(timer)
    },
    ...(credentials && { authProvider: credentials }),
  })
}

/** Streams on which a server tells of changes: they have no end. */
function lasts(init: RequestInit | undefined): boolean {
  return (init?.method ?? 'GET') === 'GET' || new Headers(init?.headers).get('mcp-method') === 'subscriptions/listen'
}
