import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply } from 'fastify'

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
  const draining = new Set<Socket>()
  return (socket, isDone) => {
    if (draining.size >= connections) draining.values().next().value?.destroy()
    draining.add(socket)
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
    socket.once('close', stop)
  }
}

/**
 * Keeps reading and dropping the body of a request that is answered early. Closing a connection with unread bytes resets the connection, and the
 * client loses the answer (RFC 9112, 9.6). A connection that is kept alive stays in use after the rest of the body; another connection is closed
 * when its client has closed it.
 */
export function drainEarlyAnswers({ server }: FastifyInstance, drain: Drain): void {
  server.prependListener('request', (request, response) => {
    const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers
    if (length === '0' && coding === undefined) return
    // Before Node closes the socket of the finished response. Answers of Fastify itself pass no hook.
    response.once('prefinish', () => {
      if (!request.complete) drainBody(request, drain)
    })
  })
}

function drainBody(request: IncomingMessage, drain: Drain): void {
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

/** Shared abort reason: an abort without a reason creates an error with a stack each time. */
const clientDisconnected = new Error('The client has disconnected.')

/** A signal that is aborted when the response closes: after the answer, or when the client disconnects. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => controller.abort(clientDisconnected))
  return controller.signal
}
