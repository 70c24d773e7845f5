import { request as requestOf, type IncomingMessage, type OutgoingHttpHeaders, type Server } from 'node:http'
import { duplexPair } from 'node:stream'

export interface LocalRequest {
  method: string
  path: string
  headers: OutgoingHttpHeaders
  body?: string
  signal: AbortSignal
}

/**
 * Sends a request to the own server through a pair of streams in memory, past no hook: authentication, limits, the log and back-pressure are those of
 * any request. Once the signal is aborted, the server sees a client that disconnects.
 */
export function requestLocally(server: Server, { body, ...options }: LocalRequest): Promise<IncomingMessage> {
  const [near, far] = duplexPair()
  near.once('close', () => far.destroy())
  far.once('close', () => near.destroy())
  // A method of sockets: closes the stream once the other side has read everything.
  Object.assign(far, { destroySoon: () => far.end(() => far.destroy()) })
  server.emit('connection', far)
  return new Promise((resolve, reject) => {
    const request = requestOf({ ...options, createConnection: () => near })
    request.once('response', resolve).on('error', reject)
    request.end(body)
  })
}
