import { replies, route, Time, toTime, orNull, namedObject } from '../schemas/shared.ts'
import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import type { Observability } from '../../runs/reports/observability.ts'
import { principalOf } from '../server/authenticate.ts'

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

export const Metrics = namedObject('TenantMetrics', 'Latencies in seconds; 0 if there is no run.', {
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
})

const Logs = namedObject('LogPage', {
  data: Type.String({
    description:
      'JSON text of a list, newest first: name, id, model, error, status, latency (seconds), end_time (epoch milliseconds), completion_tokens, total_tokens.',
  }),
  total: Type.Integer(),
  has_more: Type.Boolean(),
})

const ToolsQuery = Type.Object({
  since: Time('Runs that ended at this time or later; default: 24 hours before `until`.'),
  until: Time('Runs that ended before this time; default: now.'),
})

const SeriesQuery = Type.Object({
  bucket: Type.Enum(['hour', 'day'], { default: 'hour', description: 'Hours and days of UTC.' }),
  by: Type.Enum(['none', 'tool', 'version', 'sub'], {
    default: 'none',
    description:
      'One series for all runs, or one for each tool, version of the configuration, or caller. A run counts for every tool that it called.',
  }),
  since: Time(
    'Start; the hour or day of this time is counted in full. Default: the last 24 hours or 30 days. At most 744 hours or 366 days.',
  ),
  until: Time('Runs that ended before this time; default: now.'),
})

/** Schemas of metrics by time, and by tool. */

const CompleteSince = Type.Optional(
  Type.String({
    format: 'date-time',
    description: 'Present when there is more than one answer reads: only runs that ended from this time on are counted.',
  }),
)

/** The calls of one tool. */
export const ToolMetrics = namedObject('ToolMetrics', {
  tool: Type.String(),
  calls: Type.Integer(),
  errors: Type.Integer({ description: 'Calls that failed.' }),
  p50: Type.Number({ description: 'Median duration of a call in seconds.' }),
  p95: Type.Number({ description: 'Duration in seconds that 95 % of the calls do not exceed.' }),
})

export const ToolMetricsList = namedObject('ToolMetricsList', {
  since: Type.String({ format: 'date-time' }),
  until: Type.String({ format: 'date-time' }),
  complete_since: CompleteSince,
  tools: Type.Array(ToolMetrics, { description: 'Most calls first, at most 500 tools.' }),
})

/** The runs that ended in one hour or day. */
export const MetricPoint = namedObject('MetricPoint', {
  start: Type.String({ format: 'date-time', description: 'Start of the hour or day in UTC.' }),
  runs: Type.Integer(),
  errors: Type.Integer({ description: 'Runs with the status `error`.' }),
  tool_errors: Type.Integer({ description: 'Runs in which a tool call has failed, whatever their status.' }),
  latency: Type.Object({ mean: Type.Number(), p50: Type.Number(), p95: Type.Number() }, { description: 'Seconds.' }),
  tokens: Type.Integer(),
  cost: orNull(Type.Number(), 'USD. Null if no price is known for the models of these runs.'),
})

export const MetricSeries = namedObject('MetricSeries', {
  bucket: Type.Enum(['hour', 'day']),
  by: Type.Enum(['none', 'tool', 'version', 'sub']),
  since: Type.String({ format: 'date-time', description: 'Start of the first hour or day.' }),
  until: Type.String({ format: 'date-time' }),
  complete_since: CompleteSince,
  series: Type.Array(
    Type.Object({
      key: orNull(
        Type.String(),
        'The tool, version or `sub`. Null without `by`, for all other groups together, and for runs without a known version.',
      ),
      is_other: Type.Boolean({ description: 'True for the groups after the first 20 together.' }),
      runs: Type.Integer(),
      points: Type.Array(MetricPoint, { description: 'Oldest first. Hours and days without runs are left out.' }),
    }),
    { description: 'Most runs first, at most 20 groups and one for all others.' },
  ),
})

const span = { since: '2026-01-01T00:00:00Z', until: '2026-01-02T00:00:00Z' }

const timestamps = { start_timestamp: 1767225600000, end_timestamp: 4102444800000 }

/** Metrics and logs of the runs of the caller's tenant. */
export const observabilityRoutes = [metricsRoute, toolsRoute, seriesRoute, logsRoute] as const

function metricsRoute(app: App, { observability }: { observability: Observability }): void {
  app.get(
    '/core/v1/metrics',
    route('observability.read', 'Observability', {
      summary: 'Metrics of all runs, or of the runs that ended in a range of whole hours',
      text: "Sums over the tenant's runs: counts by status, tokens, latencies in seconds. Without a range, all runs count, also those whose logs are removed. An end before the start is 422.",
      parameters: timestamps,
      querystring: MetricsQuery,
      response: replies({ 200: Metrics }, 422),
    }),
    async (request) => observability.metrics(principalOf(request), request.query),
  )
}

function toolsRoute(app: App, { observability }: { observability: Observability }): void {
  app.get(
    '/core/v1/metrics/tools',
    route('observability.read', 'Observability', {
      summary: 'Calls, errors and durations of each tool',
      description:
        'Counts the tool calls of the ended runs of the tenant, as long as the runs are kept. The percentiles are exact for runs with at most ' +
        '100 calls of a tool; of longer runs, the first 100 durations count. One answer reads at most 100,000 pairs of run and tool, newest first. ' +
        'Direct tool executions are not counted.',
      text: 'Use it to find slow and failing tools.',
      parameters: span,
      querystring: ToolsQuery,
      response: replies({ 200: ToolMetricsList }, 422),
    }),
    async (request) => {
      const { since, until } = request.query
      return observability.tools(principalOf(request), { since: toTime('since', since), until: toTime('until', until) })
    },
  )
}

function seriesRoute(app: App, { observability }: { observability: Observability }): void {
  app.get(
    '/core/v1/metrics/series',
    route('observability.read', 'Observability', {
      summary: 'Runs, errors, latency, tokens and cost by hour or day',
      description:
        'Sums the ended runs of the tenant by the hour or day of their end, as long as the runs are kept. The percentiles are exact. ' +
        'One answer reads at most 200,000 runs, newest first; `complete_since` tells when there are more.',
      text: 'Use it for charts of load, errors and cost. More than 744 hours or 366 days in one answer are 422.',
      parameters: { ...span, bucket: 'day', by: 'tool' },
      querystring: SeriesQuery,
      response: replies({ 200: MetricSeries }, 422),
    }),
    async (request) => {
      const { since, until, ...query } = request.query
      return observability.series(principalOf(request), { ...query, since: toTime('since', since), until: toTime('until', until) })
    },
  )
}

function logsRoute(app: App, { observability }: { observability: Observability }): void {
  app.get(
    '/core/v1/logs',
    route('observability.read', 'Observability', {
      summary: 'List ended runs, newest first',
      text: '`data` is the JSON text of the list. For filters, costs and pages of any size, use `GET /core/v1/runs`. A run in progress is not an entry, and neither is a direct tool execution. An end before the start is 422.',
      parameters: { ...timestamps, offset: 0 },
      querystring: LogsQuery,
      response: replies({ 200: Logs }, 422),
    }),
    async (request) => observability.logs(principalOf(request), request.query),
  )
}
