import { collectDefaultMetrics, Gauge, Registry } from '@prometheus-io/client'
import type { RunObserver } from '../runs/run-observer.ts'
import { mergeSnapshots, readSnapshot, type MetricsSharing } from './snapshots.ts'
import { createRequestMeter, type RequestMeter } from './request-meter.ts'
import { createRunMeter } from './run-meter.ts'

/** Figures of this process, or of all that share its port, as Prometheus reads them. */
export interface Metrics {
  observer: RunObserver
  requests: RequestMeter
  /** A tool that was executed outside of a run. */
  executed(tool: string, status: 'success' | 'error', seconds: number): void
  read(): Promise<{ contentType: string; text: string }>
}

export interface MetricsOptions {
  /** Runs that this process has. */
  runs(): { pending: number; running: number }
  /** Async runs that nobody has yet; of all processes that share the database. */
  waiting(): Promise<number>
  /** Jobs that are to be done, by kind; of all processes that share the database. */
  jobs(): Promise<{ kind: string; count: number }[]>
  /** Epoch milliseconds. */
  now(): number
  /** Present where several processes share the port. */
  sharing?: MetricsSharing
}

export function createMetrics({ runs, waiting, jobs, now, sharing }: MetricsOptions): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const live = new Gauge({
    name: 'agent_core_runs_live',
    help: 'Runs that this process has: pending ones wait for their session.',
    labelNames: ['state'],
    registers,
    collect() {
      const { pending, running } = runs()
      live.set({ state: 'pending' }, pending)
      live.set({ state: 'running' }, running)
    },
  })
  // What the store says is the same for all processes: `max`.
  const accepted = new Gauge({
    name: 'agent_core_async_runs_waiting',
    help: 'Async runs that wait for their session or for a worker, of all processes.',
    registers,
    aggregator: 'max',
    async collect() {
      accepted.reset()
      const count = await waiting().catch(() => undefined)
      if (count !== undefined) accepted.set(count)
    },
  })
  const promised = new Gauge({
    name: 'agent_core_jobs_pending',
    help: 'Jobs that are to be done.',
    labelNames: ['kind'],
    registers,
    aggregator: 'max',
    async collect() {
      // Where the store can't be reached, the other figures matter all the more.
      const counts = await jobs().catch(() => [])
      promised.reset()
      for (const { kind, count } of counts) promised.set({ kind }, count)
    },
  })
  const processes = new Gauge({
    name: 'agent_core_processes',
    help: 'Processes that share the port, and whose figures these are.',
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
    read: async () => ({ contentType: registry.contentType, text: await (await current()).metrics() }),
  }
}
