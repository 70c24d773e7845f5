import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import { ServiceError } from '../../errors.ts'
import { ErrorReply } from './schemas.ts'

export interface HealthServices {
  /** Rejects while the store cannot be reached. */
  ping(): Promise<void>
  isStopping(): boolean
}

const Empty = Type.Object({})

/** Liveness and readiness of the process. */
export function healthRoutes(app: App, { ping, isStopping }: HealthServices): void {
  app.get(
    '/health',
    {
      config: { access: 'public' },
      schema: {
        tags: ['Health'],
        summary: 'Liveness: the process runs',
        details: () => ({ description: 'For liveness probes: 200 as long as the process can answer at all. It needs no key.' }),
        response: { 200: Empty },
      },
    },
    async () => ({}),
  )

  app.get(
    '/health/ready',
    {
      config: { access: 'public' },
      schema: {
        tags: ['Health'],
        summary: 'Readiness: the service can serve requests',
        details: () => ({
          description:
            'For readiness probes and load balancers: 503 while the store cannot be reached, and while the service stops. It needs no key.',
        }),
        response: { 200: Empty, 503: ErrorReply },
      },
    },
    async () => {
      if (isStopping()) throw new ServiceError('overloaded', 'The service is stopping.', { retryAfter: 5 })
      await ping().catch((cause: unknown) => {
        throw new ServiceError('overloaded', 'The store cannot be reached.', { cause, retryAfter: 5 })
      })
      return {}
    },
  )
}
