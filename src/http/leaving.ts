import type { FastifyReply } from 'fastify'

/** Shared abort reason: an abort without a reason creates an error with a stack each time. */
const clientDisconnected = new Error('The client has disconnected.')

/** A signal that is aborted when the response closes: after the answer, or when the client disconnects. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => controller.abort(clientDisconnected))
  return controller.signal
}
