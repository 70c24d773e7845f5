import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** Limits for the rest of a body that arrives after the answer. */
export interface DrainLimits {
  bytes: number
  /** Milliseconds without a byte. */
  silentMs: number
  /** Milliseconds in total. */
  totalMs: number
}

const checkMs = 250

/**
 * Keeps reading and dropping the body of a request that was answered early. Closing a connection with unread bytes resets the connection, and the
 * client loses the answer (RFC 9112, 9.6). After a complete body the connection stays in use; over a limit the socket is destroyed.
 */
export function drainEarlyAnswers(app: FastifyInstance, limits: DrainLimits): void {
  app.addHook('onResponse', (request, _reply, done) => {
    drain(request.raw, limits)
    done()
  })
}

export function drain(request: IncomingMessage, { bytes, silentMs, totalMs }: DrainLimits): void {
  if (request.complete) return
  const { socket } = request
  const first = socket.bytesRead
  let last = first
  let silentFor = 0
  let totalFor = 0
  const timer = setInterval(() => {
    totalFor += checkMs
    silentFor = socket.bytesRead === last ? silentFor + checkMs : 0
    last = socket.bytesRead
    if (request.complete || socket.destroyed) return clearInterval(timer)
    if (silentFor < silentMs && totalFor < totalMs && last - first <= bytes) return
    clearInterval(timer)
    socket.destroy()
  }, checkMs).unref()
  request.resume()
}

/** Shared abort reason: an abort without a reason creates an error with a stack each time. */
const clientDisconnected = new Error('The client has disconnected.')

/** A signal that is aborted when the response closes: after the answer, or when the client disconnects. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => controller.abort(clientDisconnected))
  return controller.signal
}
