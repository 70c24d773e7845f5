import { collectDefaultMetrics, Counter, Gauge, Registry } from '@prometheus-io/client'
import type { RunObserver } from '../runs/run-observer.ts'
import { mergeSnapshots, readSnapshot, type MetricsSharing } from './snapshots.ts'
import { createRequestMeter, createRunMeter, type RequestMeter } from './meters.ts'

/** The Prometheus metrics of a process, or of all processes behind a shared port. */
export interface Metrics {
  observer: RunObserver
  requests: RequestMeter
  /** Records a tool executed outside of a run. */
  executed(tool: string, status: 'success' | 'error', seconds: number): void
  /** Counts fires of schedules by outcome. */
  fired(outcomes: readonly { outcome: string; count: number }[]): void
  read(): Promise<{ contentType: string; text: string }>
}

export interface MetricsOptions {
  /** Numbers of runs held by the process. */
  runs(): { pending: number; running: number }
  /** Number of unclaimed async runs of all processes that share the database. */
  waiting(): Promise<number>
  /** Numbers of pending jobs by kind, of all processes that share the database. */
  jobs(): Promise<{ kind: string; count: number }[]>
  /** Number of events of the audit ledger that are not sealed. */
  unsealed(): Promise<number>
  /** The known windows of budgets, by budget and unit. */
  budgets(): readonly { budget: string; unit: string; spent: number; reserved: number }[]
  /** Refusals of this process, by budget. */
  budgetRefusals(): ReadonlyMap<string, number>
  /** Epoch milliseconds. */
  now(): number
  /** Present when several processes share the port. */
  sharing?: MetricsSharing
}

/** Creates the metrics in an empty registry. */
export function createMetrics(
  { runs, waiting, jobs, unsealed, now, sharing, ...budgets }: MetricsOptions,
  registry = new Registry(),
): Metrics {
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const liveRuns = new Gauge({
    name: 'agent_core_runs_live',
    help: 'Runs that this process holds: pending runs wait for their session.',
    labelNames: ['state'],
    registers,
    collect() {
      const { pending, running } = runs()
      liveRuns.set({ state: 'pending' }, pending)
      liveRuns.set({ state: 'running' }, running)
    },
  })
  // Values of the store are the same for all processes, so snapshots are merged by `max`.
  const waitingRuns = new Gauge({
    name: 'agent_core_async_runs_waiting',
    help: 'Async runs that wait for their session or for a worker, of all processes.',
    registers,
    aggregator: 'max',
    async collect() {
      waitingRuns.reset()
      const count = await waiting().catch(() => undefined)
      if (count !== undefined) waitingRuns.set(count)
    },
  })
  const unsealedEvents = new Gauge({
    name: 'agent_core_audit_unsealed',
    help: 'Events of the audit ledger that are not sealed yet.',
    registers,
    aggregator: 'max',
    async collect() {
      unsealedEvents.reset()
      const count = await unsealed().catch(() => undefined)
      if (count !== undefined) unsealedEvents.set(count)
    },
  })
  const pendingJobs = new Gauge({
    name: 'agent_core_jobs_pending',
    help: 'Pending jobs.',
    labelNames: ['kind'],
    registers,
    aggregator: 'max',
    async collect() {
      // The other metrics matter all the more while the store cannot be reached.
      const counts = await jobs().catch(() => [])
      pendingJobs.reset()
      for (const { kind, count } of counts) pendingJobs.set({ kind }, count)
    },
  })
  createBudgetMetrics(budgets, registers)
  const processes = new Gauge({
    name: 'agent_core_processes',
    help: 'Processes behind the port, whose metrics are summed here.',
    registers,
  })
  processes.set(1)
  const meter = createRunMeter(registers, now)
  sharing?.provide(() => readSnapshot(registry))
  const current = async () => (sharing ? mergeSnapshots(await sharing.gather()) : registry)
  return {
    observer: meter.observer,
    executed: meter.executed,
    requests: createRequestMeter(registers),
    fired: createFireMeter(registers),
    read: async () => ({ contentType: registry.contentType, text: await (await current()).metrics() }),
  }
}

function createFireMeter(registers: Registry[]): Metrics['fired'] {
  const fires = new Counter({
    name: 'agent_core_schedule_fires_total',
    help: 'Times of schedules, and triggers, that this process has evaluated, by what became of them.',
    labelNames: ['outcome'],
    registers,
  })
  return (outcomes) => {
    for (const { outcome, count } of outcomes) fires.inc({ outcome }, count)
  }
}

/** Callers, sessions and runs are no labels: each budget has a series per unit. */
function createBudgetMetrics({ budgets, budgetRefusals }: Pick<MetricsOptions, 'budgets' | 'budgetRefusals'>, registers: Registry[]): void {
  for (const part of ['spent', 'reserved'] as const) {
    // Processes behind a port know the same windows.
    const gauge = new Gauge({
      name: `agent_core_budget_${part}`,
      help: budgetHelp[part],
      labelNames: ['budget', 'unit'],
      registers,
      aggregator: 'max',
      collect() {
        gauge.reset()
        for (const { budget, unit, ...figures } of budgets()) gauge.set({ budget, unit }, figures[part])
      },
    })
  }
  const refused = new Counter({
    name: 'agent_core_budget_refused_total',
    help: 'Runs and model calls that a budget could not pay.',
    labelNames: ['budget'],
    registers,
    collect() {
      refused.reset()
      for (const [budget, count] of budgetRefusals()) refused.inc({ budget }, count)
    },
  })
}

const budgetHelp = {
  spent:
    'What is spent in the current windows of a budget that this process has seen, summed over callers, sessions and runs. USD and tokens.',
  reserved: 'What model calls that have not ended may cost, in the same windows.',
}
