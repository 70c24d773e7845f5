import { Registry } from '@prometheus-io/client'
import { jobKinds } from '../../src/runs/jobs.ts'
import { createMetrics } from '../../src/metrics/metrics.ts'
import { toAlternatives, toCode, toPage, toProse, toTable } from './markdown.ts'

/** The page of the Prometheus metrics, from their registry. */
export function metricsPage(): string {
  const head = { title: 'Metrics', description: 'Every Prometheus metric of the service: name, type, labels and meaning.' }
  return toPage(head, [
    introduction,
    toSection('Metrics of the service', isOwn),
    labelsSection(),
    toSection('Metrics of the process', isOfProcess),
  ])
}

const introduction = `\`GET /metrics\` answers in the text format of Prometheus, for the whole service: all tenants, and all \`WORKERS\` of one port. It needs a key of the
administrators' tenant with \`observability.read\`; with \`METRICS_PUBLIC=true\` it needs none. Replicas behind a load balancer are scraped one by
one.

\`\`\`yaml
scrape_configs:
  - job_name: agent-core
    authorization: { type: Bearer, credentials_file: metrics.key }
    static_configs: [{ targets: ["127.0.0.1:8080"] }]
\`\`\`

Durations are in seconds. A histogram \`x\` has the series \`x_bucket\`, \`x_sum\` and \`x_count\`. Nothing is recorded per token. The metrics of a
tenant are at \`GET /core/v1/metrics\`, see [HTTP API](http.md).`

interface Metric {
  name: string
  help: string
  type: string
  labelNames: readonly string[]
}

/** The values of each label. */
const labels: Readonly<Record<string, string>> = {
  operation: 'How the run was started: `chain`, `chain_streaming`, `chain_async` or `schedule`; other protocols count as the first two.',
  status:
    'The end of a run (`success`, `error`, `cancelled`, `timeout`), of a tool call (`success`, `error`), or the status code of an HTTP request.',
  state: '`pending`: the run waits for its session. `running`: it is executed.',
  kind: `${toAlternatives(jobKinds.map(toCode))}.`,
  model: 'The name of the model.',
  direction: '`input` or `output`.',
  cache: '`read` or `write`. Writes are counted where the provider has a price for them.',
  tool: 'The name of the tool; `sub_agent` for tasks of sub-agents, `unknown` for tools that do not exist, `other` beyond 500 names.',
  phase:
    '`queue`: waiting for the turn in the session, for admission or for a worker. `store`: waiting for the database. `model`: model calls of the agent. `tools`: tool calls, with those of sub-agents and their model calls; overlapping calls count once. `own`: the rest.',
  method: 'The HTTP method.',
  route: 'The pattern of the route, without ids.',
  outcome: 'Of a time of a schedule: `started`, `skipped`, `missed` or `refused`, as in `GET /core/v1/schedules/{id}/fires`.',
  decision: '`approve`: a person was asked. `refuse`: the call failed.',
  budget: 'The name of a budget of agent.yaml.',
  unit: '`USD` or `tokens`, as far as the budget limits them.',
}

const metrics = listMetrics()

function listMetrics(): Metric[] {
  const registry = new Registry()
  const none = async () => []
  const budgets = { budgets: () => [], budgetRefusals: () => new Map<string, number>() }
  createMetrics(
    { runs: () => ({ pending: 0, running: 0 }), waiting: async () => 0, jobs: none, unsealed: async () => 0, ...budgets, now: Date.now },
    registry,
  )
  return registry.getMetricsAsArray() as unknown as Metric[]
}

function isOwn({ name }: Metric): boolean {
  return name.startsWith('agent_core_')
}

function isOfProcess(metric: Metric): boolean {
  return !isOwn(metric)
}

function toSection(title: string, isShown: (metric: Metric) => boolean): string {
  const rows = metrics
    .filter(isShown)
    .map(({ name, type, labelNames, help }) => [toCode(name), type, labelNames.map(toCode).join(', '), toProse(withStop(help))])
  return `## ${title}\n\n${toTable(['Metric', 'Type', 'Labels', 'Description'], rows)}`
}

function labelsSection(): string {
  const names = [...new Set(metrics.filter(isOwn).flatMap(({ labelNames }) => labelNames))]
  const rows = names.map((name) => {
    const meaning = labels[name]
    if (meaning === undefined) throw new Error(`The label "${name}" has no description in scripts/reference/metrics.ts.`)
    return [toCode(name), toProse(meaning)]
  })
  return `## Labels\n\n${toTable(['Label', 'Values'], rows)}`
}

function withStop(text: string): string {
  return text.endsWith('.') ? text : `${text}.`
}
