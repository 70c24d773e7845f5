import { StreamableHTTPClientTransport, type FetchLike } from '@modelcontextprotocol/client'
import type { Outbound } from '../builder.ts'
import { boundResponse } from './bounded-body.ts'
import { createClientCredentials, type ClientCredentials } from './client-credentials.ts'
import { limits } from './limits.ts'

/** A server at an address, with resolved secrets. */
export interface RemoteServer {
  url: URL
  headers: Readonly<Record<string, string>>
  oauth?: ClientCredentials
}

export interface HttpTransportOptions {
  outbound: Outbound
  /** Limit for a request with its response. */
  timeoutMs: number
  onTooLong(reason: string): void
  /** Called with each new token, which is then masked like other secrets. */
  onToken(token: string): void
}

/** Limits for a response of an authorization server. */
const oauthBytes = 1024 * 1024
const oauthMs = 15_000

/** An ended stream is reopened for as long as the connection lasts, after the pause requested by the server, but at least a second. */
const reconnection = { initialReconnectionDelay: 1000, maxReconnectionDelay: 30_000, reconnectionDelayGrowFactor: 2, maxRetries: 4 }

/** Streamable HTTP transport with limits for time and size. Redirects stay within the origin, so that no other host receives calls or context. */
export function createHttpTransport(
  server: RemoteServer,
  { outbound, timeoutMs, onTooLong, onToken }: HttpTransportOptions,
): StreamableHTTPClientTransport {
  const { url, headers, oauth } = server
  const configured = new Set([url.origin, ...(oauth?.tokenUrl === undefined ? [] : [new URL(oauth.tokenUrl).origin])])

  /** Sends a request. Addresses named only by the server must pass the outbound rules; configured origins need not. */
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

  /** Sends a request, and repeats the request once with a wider token when the server asks for more scopes. */
  const sendAuthorized: FetchLike = async (target, init) => {
    const limit = { bytes: limits.messageBytes, ...(isLongLived(init) ? {} : { ms: timeoutMs }) }
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

/** True for requests whose response is an endless stream of notifications. */
function isLongLived(init: RequestInit | undefined): boolean {
  return (init?.method ?? 'GET') === 'GET' || new Headers(init?.headers).get('mcp-method') === 'subscriptions/listen'
}
