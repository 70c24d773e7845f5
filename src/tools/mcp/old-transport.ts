import type { Outbound } from '../builder.ts'
import type { RemoteServer } from './remote-server.ts'

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
