import type { FastifyReply } from 'fastify'

/** Made once: an abort without a reason makes an error with its stack each time. */
const gone = new Error('The client has gone.')

/** Aborted when the connection of a request is gone, which it also is some time after the answer. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => controller.abort(gone))
  return controller.signal
}
