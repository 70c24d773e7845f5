import { connect } from 'node:net'

/** Bytes that are no correct HTTP request. */
export const rawRequests: readonly string[] = [
  'GET\r\n\r\n',
  'GET / HTTP/9.9\r\nhost: a\r\n\r\n',
  'GET  /health HTTP/1.1\r\nhost: a\r\n\r\n',
  'GET /health\0 HTTP/1.1\r\nhost: a\r\n\r\n',
  'GET http:///health HTTP/1.1\r\nhost: a\r\n\r\n',
  'GET //health HTTP/1.1\r\nhost: a\r\n\r\n',
  'GET /%zz HTTP/1.1\r\nhost: a\r\n\r\n',
  'GET /core/v1/runs/%ff%fe HTTP/1.1\r\nhost: a\r\n\r\n',
  'GET /health HTTP/1.1\r\n\r\n',
  'GET /health HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n',
  'GET /health HTTP/1.1\r\nhost : a\r\n\r\n',
  'GET /health HTTP/1.1\r\nhost: a\r\n folded: yes\r\n\r\n',
  'GET /health HTTP/1.1\r\nhost: a\r\nx: \x01\x7f\r\n\r\n',
  `GET /health HTTP/1.1\r\nhost: a\r\nx: ${'a'.repeat(100_000)}\r\n\r\n`,
  `GET /health HTTP/1.1\r\nhost: a\r\n${Array.from({ length: 5000 }, (_, n) => `x${n}: 1\r\n`).join('')}\r\n`,
  `GET /${'a'.repeat(100_000)} HTTP/1.1\r\nhost: a\r\n\r\n`,
  'POST /core/v1/chain HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n{}',
  'POST /core/v1/chain HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}',
  'POST /core/v1/chain HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}',
  'POST /core/v1/chain HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n',
  'POST /core/v1/chain HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n{}',
  'POST /core/v1/chain HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n{}',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'CONNECT a:443 HTTP/1.1\r\nhost: a\r\n\r\n',
  'GET /mcp HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAA\r\n\r\n',
  'TRACE /health HTTP/1.1\r\nhost: a\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  '\r\n\r\n\r\n',
  '\0\0\0\0',
]

/**
 * Sends bytes, and half-closes the connection. Resolves with the statuses of all answers. Rejects when the service keeps the connection for
 * longer than ten seconds.
 */
export function sendRaw(port: number, bytes: string): Promise<number[]> {
  const { promise, resolve, reject } = Promise.withResolvers<number[]>()
  const socket = connect({ port, host: '127.0.0.1' })
  let text = ''
  const hanging = setTimeout(() => {
    socket.destroy()
    reject(new Error('The connection stays open.'))
  }, 10_000)
  socket.setEncoding('latin1').on('data', (piece: string) => (text += piece))
  // A reset is an answer too.
  socket.on('error', () => undefined)
  socket.on('close', () => {
    clearTimeout(hanging)
    resolve([...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status)))
  })
  socket.end(Buffer.from(bytes, 'latin1'))
  return promise
}
