import type { Logger } from 'pino'
import type { MeasuredBudgets } from '../budgets/budgets.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import { createMetrics } from '../metrics/metrics.ts'
import type { MetricsSharing } from '../metrics/snapshots.ts'
import { combineObservers } from '../runs/run-observer.ts'
import type { RunStore } from '../runs/run-store.ts'
import type { Runs } from '../runs/runs.ts'
import type { TracingSettings } from '../settings/settings.ts'
import { createLedgerSource } from '../store/audit/read.ts'
import type { Database } from '../store/database.ts'
import type { Tracing } from '../tracing/tracing.ts'

interface MeasureOptions {
  tracing: TracingSettings | undefined
  version: string
  database: Database
  runStore: Pick<RunStore, 'countUnclaimed'>
  agent: CurrentAgent
  budgets: Pick<MeasuredBudgets, 'figures' | 'refusals'>
  /** The runs, which are opened later. */
  runs(): Pick<Runs, 'counts'>
  /** Present for a worker of a multi-process service. */
  sharing: MetricsSharing | undefined
  now(): number
  log: Logger
}

/** Wires metrics, and traces where an endpoint is set. Both observe runs. */
export async function openMeasures(stack: AsyncDisposableStack, options: MeasureOptions) {
  const { database, agent, budgets, runStore, runs, sharing, now } = options
  const tracing = await openTracing(stack, options)
  const source = createLedgerSource(database)
  const metrics = createMetrics({
    runs: () => runs().counts(),
    waiting: () => runStore.countUnclaimed(),
    jobs: () => database.jobs.count(),
    unsealed: () => source.countUnsealed(),
    budgets: () => budgets.figures((agent().config.budgets ?? []).map(({ name }) => name)),
    budgetRefusals: () => budgets.refusals,
    now,
    sharing,
  })
  return { metrics, observer: tracing ? combineObservers([metrics.observer, tracing.observer]) : metrics.observer }
}

type TracingOptions = Pick<MeasureOptions, 'tracing' | 'version' | 'log'>

/** Opens tracing when configured. The packages are imported only then, which takes a tenth of a second. */
async function openTracing(stack: AsyncDisposableStack, { tracing, version, log }: TracingOptions): Promise<Tracing | undefined> {
  if (!tracing) return undefined
  const { createTracing } = await import('../tracing/tracing.ts')
  let loggedAt = -Infinity
  function onError(err: unknown): void {
    if (Date.now() - loggedAt < logEveryMs) return
    loggedAt = Date.now()
    log.warn({ err }, 'Traces cannot be sent')
  }
  return stack.adopt(createTracing({ ...tracing, version, onError }), (tracer) => tracer.close())
}

const logEveryMs = 60_000
