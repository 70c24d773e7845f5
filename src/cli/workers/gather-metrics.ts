import type { MetricsSnapshot } from '../../metrics/snapshots.ts'
import type { FromWorker, ToWorker } from './messages.ts'

/** The part of a worker that metrics need. */
interface Counted {
  readonly id: number
  tell(message: ToWorker): void
}

/** Collects the metrics of all workers for the worker that serves a scrape. A scrape of the shared port reaches any worker. */
export interface MetricsGathering {
  join(worker: Counted): void
  leave(worker: Counted): void
  heard(worker: Counted, message: Extract<FromWorker, { kind: 'gather' | 'metrics' }>): void
  size(): number
}

/** After this time the last metrics of a silent worker are used. */
const answerMs = 2000

export function gatherMetrics(waitMs = answerMs): MetricsGathering {
  const workers = new Map<number, Counted>()
  const last = new Map<number, MetricsSnapshot>()
  /** Counters of exited workers, because a counter must never decrease. */
  let gone: Promise<MetricsSnapshot> = Promise.resolve([])
  const rounds = new Map<number, { open: Set<number>; end(): void }>()
  let count = 0

  function gather(asker: Counted, request: number): void {
    const round = ++count
    const timer = setTimeout(end, waitMs)
    function end(): void {
      clearTimeout(timer)
      rounds.delete(round)
      void gone.then((before) => asker.tell({ kind: 'gathered', request, all: [...last.values(), before] }))
    }
    rounds.set(round, { open: new Set(workers.keys()), end })
    for (const worker of workers.values()) worker.tell({ kind: 'metrics', request: round })
  }

  function answered(id: number, round: number): void {
    const found = rounds.get(round)
    if (found?.open.delete(id) && found.open.size === 0) found.end()
  }

  return {
    join: (worker) => void workers.set(worker.id, worker),
    leave({ id }) {
      const own = last.get(id)
      if (own) gone = gone.then((before) => add(before, own))
      last.delete(id)
      workers.delete(id)
      for (const round of rounds.keys()) answered(id, round)
    },
    heard(worker, message) {
      if (message.kind === 'gather') return gather(worker, message.request)
      last.set(worker.id, message.metrics)
      if (message.request !== undefined) answered(worker.id, message.request)
    },
    size: () => workers.size,
  }
}

/** Adds up counters. The import is on demand, so that the supervisor stays small. */
async function add(before: MetricsSnapshot, own: MetricsSnapshot): Promise<MetricsSnapshot> {
  const { sumCounters } = await import('../../metrics/snapshots.ts')
  return sumCounters([before, own])
}
