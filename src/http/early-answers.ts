import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'

/** Bounds of what a client may still send behind its answer. */
export interface DrainLimits {
  bytes: number
  /** Without a byte. */
  silentMs: number
  /** In all. */
  totalMs: number
}

const turnMs = 250

/**
 * Lets a client that is answered before its body is complete send on for a while, and drops what comes. A connection that is closed with bytes
 * unread is reset, and the client loses the answer with it (RFC 9112, 9.6). A body that is complete in time leaves the connection in use.
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
    totalFor += turnMs
    silentFor = socket.bytesRead === last ? silentFor + turnMs : 0
    last = socket.bytesRead
    if (request.complete || socket.destroyed) return clearInterval(timer)
    if (silentFor < silentMs && totalFor < totalMs && last - first <= bytes) return
    clearInterval(timer)
    socket.destroy()
  }, turnMs).unref()
  request.resume()
}
