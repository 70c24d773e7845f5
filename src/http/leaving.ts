import type { FastifyReply } from 'fastify'

/** Aborted when the connection of a request is gone, which it also is some time after the answer. */
export function whenLeft(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => controller.abort())
  return controller.signal
}
