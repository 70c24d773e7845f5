import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { ServiceError } from '../../errors.ts'
import { ErrorReply } from '../schemas.ts'

export interface HealthServices {
  /** Throws while the store can't be reached. */
  ping(): Promise<void>
  isStopping(): boolean
}

const Empty = Type.Object({})

/** For whoever keeps the process alive, and whoever sends it requests. */
export function healthRoutes(app: FastifyInstance, { ping, isStopping }: HealthServices): void {
  app.get(
    '/health',
    { config: { access: 'public' }, schema: { tags: ['Health'], summary: 'The process is there', response: { 200: Empty } } },
    async () => ({}),
  )

  app.get(
    '/health/ready',
    {
      config: { access: 'public' },
      schema: { tags: ['Health'], summary: 'Requests can be served', response: { 200: Empty, 503: ErrorReply } },
    },
    async () => {
      if (isStopping()) throw new ServiceError('overloaded', 'The service is stopping.', { retryAfter: 5 })
      await ping().catch((cause: unknown) => {
        throw new ServiceError('overloaded', 'The store can not be reached.', { cause, retryAfter: 5 })
      })
      return {}
    },
  )
}
