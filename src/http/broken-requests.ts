import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorBody } from '../errors.ts'

/** Requests that are not even HTTP, too long in their headers, or too slow: there is no request object, and no route, for them. */
const refusals: Record<string, [status: number, errorType: string, sentence: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'HeadersTooLarge', 'The headers of the request are larger than this service takes.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'RequestTimeout', 'The request did not arrive in time.'],
}

const answered = new WeakSet<Socket>()

/** What a client still sends is dropped for so long. */
const lingerMs = 5000

/** Answers in the shape of every other error, and closes the connection: where the next request would begin is not known. */
export function refuseBroken(error: NodeJS.ErrnoException, socket: Socket): void {
  // The client still sends; a connection that is closed now loses the answer.
  if (answered.has(socket)) return
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  answered.add(socket)
  const [status, errorType, sentence] = refusals[error.code ?? ''] ?? [400, 'BadRequest', 'The request is not valid HTTP.']
  const body = JSON.stringify({ body: sentence, status_code: status, details: { error_type: errorType } } satisfies ErrorBody)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.once('close', () => clearTimeout(timer))
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
