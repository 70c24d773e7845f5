import type { OperationTexts } from './operation-text.ts'

const span = { since: '2026-01-01T00:00:00Z', until: '2026-01-02T00:00:00Z' }
const timestamps = { start_timestamp: 1767225600000, end_timestamp: 4102444800000 }

export const observabilityTexts: OperationTexts = {
  getMetrics: {
    description:
      "Sums over the tenant's runs: counts by status, tokens, latencies in seconds. Without a range, all runs count, also those whose logs are removed. An end before the start is 422.",
    parameters: timestamps,
  },
  getMetricsTools: { description: 'Use it to find slow and failing tools.', parameters: span },
  getMetricsSeries: {
    description: 'Use it for charts of load, errors and cost. More than 744 hours or 366 days in one answer are 422.',
    parameters: { ...span, bucket: 'day', by: 'tool' },
  },
  getLogs: {
    description:
      '`data` is the JSON text of the list. For filters, costs and pages of any size, use `GET /core/v1/runs`. A run in progress is not an entry, and neither is a direct tool execution. An end before the start is 422.',
    parameters: { ...timestamps, offset: 0 },
  },
  getStatus: {
    description:
      "Use it for a page about the health of an installation: each check that is not `ok` has a message and, where there is one, a remedy. 403: the key is not one of the administrators' tenant (`ADMIN_TENANT`).",
  },
  getPrometheusMetrics: {
    description:
      "Counters and histograms of all tenants and processes, for a Prometheus server. It needs a key with `observability.read` of the administrators' tenant, or none with `METRICS_PUBLIC=true`.",
  },
}
