import { replies, route, ErrorReply, optionalText, orNull, namedObject } from '../schemas/shared.ts'
import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import { ServiceError } from '../../errors.ts'
import { principalOf } from '../server/authenticate.ts'

/** Schemas of the health of the service. */

const nullableText = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

export const Check = namedObject('Check', 'The result of a check.', {
  name: Type.String({
    description:
      'The checked part: settings, data_directory, store, secrets, artifacts, configuration, gate, files, models, tools, knowledge or outbound.',
  }),
  status: Type.Enum(['ok', 'warning', 'error']),
  message: Type.String(),
  remedy: optionalText('What to do about it.'),
})

export const Replica = namedObject('Replica', 'A process of the service.', {
  id: Type.String({ description: 'The holder of its runs.' }),
  host: nullableText('The name of its machine; null for a process of a former version.'),
  version: nullableText('The version of its program; null for a process of a former version.'),
  started_at: orNull(Type.String({ format: 'date-time' })),
  last_seen_at: Type.String({ format: 'date-time', description: 'The last renewal of its lease.' }),
  is_alive: Type.Boolean({ description: 'False: the process was lost without stopping. It is listed for a day.' }),
  runs: Type.Integer({ description: 'Runs that it executes.' }),
})

export const JobCounts = namedObject('JobCounts', 'Numbers of jobs of a kind.', {
  due: Type.Integer({ description: 'Wait for a worker.' }),
  scheduled: Type.Integer({ description: 'Wait for their time.' }),
  running: Type.Integer(),
  failed: Type.Integer({ description: 'Have failed and wait for their next try. Of the kind `given_up`: failed for too long.' }),
})

export const ServiceStatus = namedObject('ServiceStatus', 'The health of the whole service.', {
  version: Type.String({ description: 'The version of the process that answers.' }),
  checked_at: Type.String({ format: 'date-time', description: 'The time of the answer, which is cached.' }),
  checks: Type.Array(Check),
  replicas: Type.Array(Replica),
  jobs: Type.Record(Type.String(), JobCounts, { description: 'By kind, such as `callback`.' }),
})

const Empty = Type.Object({})

interface StatusRouteOptions {
  /** Reads the state of the whole service. Cheap: checks are computed at most every 10 s. */
  status: { read(): Promise<Type.Static<typeof ServiceStatus>> }
  /** The only tenant that may read the status, since it covers all tenants. */
  adminTenant: string
}

/** The health of the whole service, for its operators. */
export function statusRoute(app: App, { status, adminTenant }: StatusRouteOptions): void {
  app.get(
    '/core/v1/status',
    route('observability.read', 'Observability', {
      summary: 'Get the health of the whole service',
      description:
        "The checks of the command `doctor`, the running processes and their runs, and the jobs by kind. Needs a key of the administrators' tenant. The answer is at most 10 s old; models are called at most every 5 minutes, and the artifact store every minute.",
      text: "Use it for a page about the health of an installation: each check that is not `ok` has a message and, where there is one, a remedy. 403: the key is not one of the administrators' tenant (`ADMIN_TENANT`).",
      response: replies({ 200: ServiceStatus }),
    }),
    async (request) => {
      if (principalOf(request).tenant !== adminTenant) {
        const rule = "the status of the whole service needs observability.read and a key of the administrators' tenant"
        throw new ServiceError('forbidden', `RBAC: access denied: ${rule}.`)
      }
      return status.read()
    },
  )
}

interface HealthServices {
  /** Rejects while the store cannot be reached. */
  ping(): Promise<void>
  isStopping(): boolean
}

/** Liveness and readiness of the process. */
export function healthRoutes(app: App, { ping, isStopping }: HealthServices): void {
  app.get(
    '/health',
    route('public', 'Health', {
      summary: 'Liveness: the process runs',
      text: 'For liveness probes: 200 as long as the process can answer at all. It needs no key.',
      response: { 200: Empty },
    }),
    async () => ({}),
  )

  app.get(
    '/health/ready',
    route('public', 'Health', {
      summary: 'Readiness: the service can serve requests',
      text: 'For readiness probes and load balancers: 503 while the store cannot be reached, and while the service stops. It needs no key.',
      response: { 200: Empty, 503: ErrorReply },
    }),
    async () => {
      if (isStopping()) throw new ServiceError('overloaded', 'The service is stopping.', { retryAfter: 5 })
      await ping().catch((cause: unknown) => {
        throw new ServiceError('overloaded', 'The store cannot be reached.', { cause, retryAfter: 5 })
      })
      return {}
    },
  )
}

interface PrometheusOptions {
  metrics: { read(): Promise<{ contentType: string; text: string }> }
  /** True: the route needs no key. */
  metricsPublic: boolean
  /** The only tenant that may read the metrics unless they are public, since they cover all tenants. */
  adminTenant: string
}

/** Metrics of the whole service, for a Prometheus server. */
export function prometheusRoute(app: App, { metrics, metricsPublic, adminTenant }: PrometheusOptions): void {
  app.get(
    '/metrics',
    route(metricsPublic ? 'public' : 'observability.read', 'Observability', {
      operationId: 'getPrometheusMetrics',
      summary: 'Metrics of the whole service as Prometheus text',
      text: "Counters and histograms of all tenants and processes, for a Prometheus server. It needs a key with `observability.read` of the administrators' tenant, or none with `METRICS_PUBLIC=true`.",
      response: replies({ 200: { description: 'Prometheus text.', content: { 'text/plain': { schema: Type.String() } } } }),
    }),
    async (request, reply) => {
      if (!metricsPublic && principalOf(request).tenant !== adminTenant) {
        throw new ServiceError(
          'forbidden',
          "RBAC: access denied: metrics of the whole service need observability.read and a key of the administrators' tenant.",
        )
      }
      const { contentType, text } = await metrics.read()
      return reply.type(contentType).serializer(String).send(text)
    },
  )
}
