import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { Observability } from '../../runs/reports/observability.ts'
import { principalOf } from '../authenticate.ts'
import { refusals, ValidationReply } from '../schemas.ts'

const Timestamp = (bound: string) =>
  Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    default: 0,
    description: `${bound}: epoch milliseconds, or seconds below 1e11; 0 means no bound.`,
  })

const TimeRange = { start_timestamp: Timestamp('Start of the search'), end_timestamp: Timestamp('End of the search') }

const MetricsQuery = Type.Object(TimeRange)

const LogsQuery = Type.Object({
  run_id: Type.Optional(Type.String()),
  limit: Type.Integer({ minimum: 1, maximum: 20, default: 10 }),
  offset: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }),
  ...TimeRange,
})

export const Metrics = Type.Object(
  {
    status_value_counts: Type.Record(Type.String(), Type.Integer()),
    total_requests: Type.Integer(),
    total_errors: Type.Integer(),
    total_tokens: Type.Integer(),
    mean_tokens: Type.Number(),
    mean_latency: Type.Number(),
    max_latency: Type.Number(),
    min_latency: Type.Number(),
    total_prompt_tokens: Type.Integer(),
    mean_prompt_tokens: Type.Number(),
    total_completion_tokens: Type.Integer(),
    mean_completion_tokens: Type.Number(),
  },
  { description: 'Latencies in seconds; 0 if there is no run.' },
)

export const Logs = Type.Object({
  data: Type.String({
    description:
      'JSON text of a list, newest first: name, id, model, error, status, latency (seconds), end_time (epoch milliseconds), completion_tokens, total_tokens.',
  }),
  total: Type.Integer(),
  has_more: Type.Boolean(),
})

/** Metrics and logs of the runs of the caller's tenant. */
export function observabilityRoutes(app: FastifyInstance, { observability }: { observability: Observability }): void {
  app.get(
    '/core/v1/metrics',
    {
      config: { access: 'observability.read' },
      schema: {
        tags: ['Observability'],
        summary: 'Metrics of all runs, or of the runs that ended in a range of whole hours',
        querystring: MetricsQuery,
        response: { 200: Metrics, 422: ValidationReply, ...refusals },
      },
    },
    async (request) => observability.metrics(principalOf(request), request.query as Type.Static<typeof MetricsQuery>),
  )

  app.get(
    '/core/v1/logs',
    {
      config: { access: 'observability.read' },
      schema: {
        tags: ['Observability'],
        summary: 'List ended runs, newest first',
        querystring: LogsQuery,
        response: { 200: Logs, 422: ValidationReply, ...refusals },
      },
    },
    async (request) => observability.logs(principalOf(request), request.query as Type.Static<typeof LogsQuery>),
  )
}
