import type { Socket } from 'node:net'
import type { ErrorBody } from '../../errors.ts'
import { linger, type Drain } from './connection.ts'

/** Parse errors of Node's HTTP server: malformed HTTP, oversized headers, slow requests. No request object and no route exist for such an error. */
const refusals: Record<string, [status: string, errorType: string, message: string]> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'HeadersTooLarge',
    'The headers of the request are larger than this service accepts.',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'RequestTimeout', 'The request did not arrive in time.'],
}

/** Answers in the error shape, then closes the connection: the start of the next request is unknown. */
export function refuseBroken(error: NodeJS.ErrnoException, socket: Socket, drain: Drain): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const [status, errorType, message] = refusals[error.code ?? ''] ?? ['400 Bad Request', 'BadRequest', 'The request is not valid HTTP.']
  const body = JSON.stringify({
    body: message,
    status_code: Number.parseInt(status, 10),
    details: { error_type: errorType },
  } satisfies ErrorBody)
  const head = [
    `HTTP/1.1 ${status}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  linger(socket, `${head.join('\r\n')}\r\n\r\n${body}`)
  drain(socket, () => false)
}
