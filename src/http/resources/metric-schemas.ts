import { Type } from 'typebox'
import { named } from '../openapi/named.ts'

/** Schemas of metrics by time, and by tool. */

const CompleteSince = Type.Optional(
  Type.String({
    format: 'date-time',
    description: 'Present when there is more than one answer reads: only runs that ended from this time on are counted.',
  }),
)

/** The calls of one tool. */
export const ToolMetrics = named(
  'ToolMetrics',
  Type.Object({
    tool: Type.String(),
    calls: Type.Integer(),
    errors: Type.Integer({ description: 'Calls that failed.' }),
    p50: Type.Number({ description: 'Median duration of a call in seconds.' }),
    p95: Type.Number({ description: 'Duration in seconds that 95 % of the calls do not exceed.' }),
  }),
)

export const ToolMetricsList = named(
  'ToolMetricsList',
  Type.Object({
    since: Type.String({ format: 'date-time' }),
    until: Type.String({ format: 'date-time' }),
    complete_since: CompleteSince,
    tools: Type.Array(ToolMetrics, { description: 'Most calls first, at most 500 tools.' }),
  }),
)

/** The runs that ended in one hour or day. */
export const MetricPoint = named(
  'MetricPoint',
  Type.Object({
    start: Type.String({ format: 'date-time', description: 'Start of the hour or day in UTC.' }),
    runs: Type.Integer(),
    errors: Type.Integer({ description: 'Runs with the status `error`.' }),
    tool_errors: Type.Integer({ description: 'Runs in which a tool call has failed, whatever their status.' }),
    latency: Type.Object({ mean: Type.Number(), p50: Type.Number(), p95: Type.Number() }, { description: 'Seconds.' }),
    tokens: Type.Integer(),
    cost: Type.Union([Type.Number(), Type.Null()], { description: 'USD. Null if no price is known for the models of these runs.' }),
  }),
)

export const MetricSeries = named(
  'MetricSeries',
  Type.Object({
    bucket: Type.Enum(['hour', 'day']),
    by: Type.Enum(['none', 'tool', 'version', 'sub']),
    since: Type.String({ format: 'date-time', description: 'Start of the first hour or day.' }),
    until: Type.String({ format: 'date-time' }),
    complete_since: CompleteSince,
    series: Type.Array(
      Type.Object({
        key: Type.Union([Type.String(), Type.Null()], {
          description:
            'The tool, version or `sub`. Null without `by`, for all other groups together, and for runs without a known version.',
        }),
        is_other: Type.Boolean({ description: 'True for the groups after the first 20 together.' }),
        runs: Type.Integer(),
        points: Type.Array(MetricPoint, { description: 'Oldest first. Hours and days without runs are left out.' }),
      }),
      { description: 'Most runs first, at most 20 groups and one for all others.' },
    ),
  }),
)
