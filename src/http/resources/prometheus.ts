import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import { ServiceError } from '../../errors.ts'
import { principalOf } from '../server/authenticate.ts'
import { refusals } from './schemas.ts'

export interface PrometheusOptions {
  read(): Promise<{ contentType: string; text: string }>
  /** True: the route needs no key. */
  isPublic: boolean
  /** The only tenant that may read the metrics unless they are public, since they cover all tenants. */
  adminTenant: string
}

/** Metrics of the whole service, for a Prometheus server. */
export function prometheusRoute(app: App, { read, isPublic, adminTenant }: PrometheusOptions): void {
  app.get(
    '/metrics',
    {
      config: { access: isPublic ? 'public' : 'observability.read' },
      schema: {
        tags: ['Observability'],
        operationId: 'getPrometheusMetrics',
        summary: 'Metrics of the whole service as Prometheus text',
        details: () => ({
          description:
            "Counters and histograms of all tenants and processes, for a Prometheus server. It needs a key with `observability.read` of the administrators' tenant, or none with `METRICS_PUBLIC=true`.",
        }),
        response: { 200: { description: 'Prometheus text.', content: { 'text/plain': { schema: Type.String() } } }, ...refusals },
      },
    },
    async (request, reply) => {
      if (!isPublic && principalOf(request).tenant !== adminTenant) {
        throw new ServiceError(
          'forbidden',
          "RBAC: access denied: metrics of the whole service need observability.read and a key of the administrators' tenant.",
        )
      }
      const { contentType, text } = await read()
      return reply.type(contentType).serializer(String).send(text)
    },
  )
}
