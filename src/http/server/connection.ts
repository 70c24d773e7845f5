import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorBody } from '../../errors.ts'

/** Limits of what is read after an answer. No key is needed for an early answer. */
export interface DrainLimits {
  /** Bytes of one connection. */
  bytes: number
  /** Milliseconds without a byte. */
  silentMs: number
  /** Milliseconds in total. */
  totalMs: number
  /** Connections at a time. A further connection ends the oldest, whose client has had the longest time to read its answer. */
  connections: number
}

/** Bounds what a client sends after its answer: over a limit the socket is destroyed. `isDone`: the client has sent all of it. */
export type Drain = (socket: Socket, isDone: () => boolean) => void

const checkMs = 250

export function createDrain({ bytes, silentMs, totalMs, connections }: DrainLimits): Drain {
  const draining = new Map<Socket, () => void>()
  return (socket, isDone) => {
    // A further request of the connection comes behind the whole body of the request before.
    draining.get(socket)?.()
    if (draining.size >= connections) draining.keys().next().value?.destroy()
    const first = socket.bytesRead
    let last = first
    let silentFor = 0
    let totalFor = 0
    const timer = setInterval(() => {
      totalFor += checkMs
      silentFor = socket.bytesRead === last ? silentFor + checkMs : 0
      last = socket.bytesRead
      if (isDone()) return stop()
      if (silentFor >= silentMs || totalFor >= totalMs || last - first > bytes) socket.destroy()
    }, checkMs).unref()
    const stop = () => {
      clearInterval(timer)
      draining.delete(socket)
      socket.off('close', stop)
    }
    draining.set(socket, stop)
    socket.once('close', stop)
  }
}

/**
 * Keeps reading and dropping the body of a request that is answered early. Closing a connection with unread bytes resets the connection, and the
 * client loses the answer (RFC 9112, 9.6). A connection that is kept alive stays in use after the rest of the body; another connection is closed
 * when its client has closed it.
 */
export function drainBody(request: IncomingMessage, drain: Drain): void {
  const { socket } = request
  const destroySoon = socket.destroySoon.bind(socket)
  socket.destroySoon = () => (request.complete ? destroySoon() : linger(socket))
  drain(socket, () => {
    if (!request.complete || socket.writableEnded) return false
    socket.destroySoon = destroySoon
    return true
  })
  request.resume()
}

/** Sends the last bytes and the end of a connection, then drops what arrives: nothing of it is a request any more. */
export function linger(socket: Socket, lastText = ''): void {
  socket.end(lastText)
  socket.removeAllListeners('data')
  socket.on('data', () => undefined).resume()
  // Node's parser may have stopped the reading, unknown to the stream.
  socket._read(0)
}

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

/** Connections that another process accepted, for a server that does not listen itself. */
export interface InheritedConnections {
  take(connection: Socket): void
  /** Resolves when all connections are closed. */
  ended(): Promise<void>
}

/** Feeds sockets of another process into `server`. */
export function acceptInherited(server: Server): InheritedConnections {
  const open = new Set<Socket>()
  let isFirst = true
  let onEmpty = () => {}
  return {
    take(connection) {
      // The event starts the list of connections and the timeouts of slow requests, as in a server that listens.
      if (isFirst) server.emit('listening')
      isFirst = false
      open.add(connection)
      connection.once('close', () => {
        open.delete(connection)
        if (open.size === 0) onEmpty()
      })
      server.emit('connection', connection)
    },
    async ended() {
      if (open.size > 0) await new Promise<void>((resolve) => (onEmpty = resolve))
    },
  }
}
