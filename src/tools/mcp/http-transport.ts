import { type FetchLike, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Outbound } from '../builder.ts'
import { createOAuthFetch, createSend } from './bounded-messages.ts'
import { createClientCredentials, type Credentials, type TokenOptions } from './client-credentials.ts'
import { createLoginCredentials } from './login/credentials.ts'
import type { Logins } from './login/logins.ts'
import { hasOwnCredentials, limits, type RemoteServer } from './server.ts'

interface HttpTransportOptions {
  outbound: Outbound
  /** The login at the server; absent for a trial without logins. */
  logins: Logins | undefined
  /** Limit for a request with its response. */
  timeoutMs: number
  onTooLong(reason: string): void
  /** Called with each new token, which is then masked like other secrets. */
  onToken(token: string): void
}

/** An ended stream is reopened for as long as the connection lasts, after the pause requested by the server, but at least a second. */
const reconnection = { initialReconnectionDelay: 1000, maxReconnectionDelay: 30_000, reconnectionDelayGrowFactor: 2, maxRetries: 4 }

/** Streamable HTTP transport with limits for time and size. Redirects stay within the origin, so that no other host receives calls or context. */
export function createHttpTransport(
  server: RemoteServer,
  { outbound, logins, timeoutMs, onTooLong, onToken }: HttpTransportOptions,
): StreamableHTTPClientTransport {
  const { url, headers, oauth } = server
  const send = createSend(server, { outbound, onTooLong })
  const tokenOptions = { serverUrl: url, fetchFn: createOAuthFetch(send), onToken }
  const credentials = oauth ? createClientCredentials(oauth, tokenOptions) : loginCredentialsOf(server, logins, tokenOptions)

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

/** Credentials of a stored login, for a server without other credentials. */
function loginCredentialsOf(server: RemoteServer, logins: Logins | undefined, options: TokenOptions): Credentials | undefined {
  return logins && !hasOwnCredentials(server) ? createLoginCredentials(server, logins, options) : undefined
}

/** The error for a server with the HTTP+SSE transport of protocol revision 2024-11-05, which is not supported. */
export const oldTransport =
  'The server speaks only the old HTTP+SSE transport, which is not supported: it needs Streamable HTTP, often at /mcp in place of /sse.'

/** Status codes with which a server of the old transport answers a POST; other servers use the same codes for errors. */
const refusals: ReadonlySet<number> = new Set([400, 404, 405])

const waitMs = 5000
/** Maximum length of the first event, which names the endpoint. */
const firstEventCharacters = 8192

/** True when a response with the status may come from a server of the old transport. */
export function mayBeOldTransport(status: number | undefined): boolean {
  return status !== undefined && refusals.has(status)
}

/** True when a GET returns an event stream that begins with the event `endpoint`. Never rejects. */
export async function speaksOldTransport({ url, headers }: RemoteServer, outbound: Outbound, signal: AbortSignal): Promise<boolean> {
  const closing = new AbortController()
  try {
    const response = await outbound.fetchConfigured(url.href, {
      headers: { ...headers, accept: 'text/event-stream' },
      redirect: 'error',
      signal: AbortSignal.any([signal, closing.signal, AbortSignal.timeout(waitMs)]),
    })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
    return response.ok && isStream && response.body !== null && (await beginsWithEndpoint(response.body))
  } catch {
    return false
  } finally {
    closing.abort()
  }
}

async function beginsWithEndpoint(body: AsyncIterable<Uint8Array>): Promise<boolean> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of body) {
    text += decoder.decode(piece.subarray(0, firstEventCharacters), { stream: true })
    if (/^event:\s*endpoint\r?$/m.test(text)) return true
    if (text.length > firstEventCharacters) return false
  }
  return false
}
