import type { MetricsSnapshot, MetricsSharing } from '../../metrics/snapshots.ts'
import type { FromWorker, ToWorker, Supervisor } from './processes.ts'

/** The part of a worker that metrics need. */
interface MeteredWorker {
  readonly id: number
  send(message: ToWorker): void
}

/** Collects the metrics of all workers for the worker that serves a scrape. A scrape of the shared port reaches any worker. */
interface MetricsGathering {
  join(worker: MeteredWorker): void
  leave(worker: MeteredWorker): void
  receive(worker: MeteredWorker, message: Extract<FromWorker, { kind: 'gather' | 'metrics' }>): void
  size(): number
}

/** After this time the last metrics of a silent worker are used. */
const answerMs = 2000

export function gatherMetrics(waitMs = answerMs): MetricsGathering {
  const workers = new Map<number, MeteredWorker>()
  const latest = new Map<number, MetricsSnapshot>()
  /** Counters of exited workers, because a counter must never decrease. */
  let exitedCounters: Promise<MetricsSnapshot> = Promise.resolve([])
  const rounds = new Map<number, { open: Set<number>; end(): void }>()
  let count = 0

  function gather(asker: MeteredWorker, request: number): void {
    const round = ++count
    const timer = setTimeout(end, waitMs)
    function end(): void {
      clearTimeout(timer)
      rounds.delete(round)
      void exitedCounters.then((before) => asker.send({ kind: 'gathered', request, all: [...latest.values(), before] }))
    }
    rounds.set(round, { open: new Set(workers.keys()), end })
    for (const worker of workers.values()) worker.send({ kind: 'metrics', request: round })
  }

  function answered(id: number, round: number): void {
    const pending = rounds.get(round)
    if (pending?.open.delete(id) && pending.open.size === 0) pending.end()
  }

  return {
    join: (worker) => void workers.set(worker.id, worker),
    leave({ id }) {
      const snapshot = latest.get(id)
      if (snapshot) exitedCounters = exitedCounters.then((before) => add(before, snapshot))
      latest.delete(id)
      workers.delete(id)
      for (const round of rounds.keys()) answered(id, round)
    },
    receive(worker, message) {
      if (message.kind === 'gather') return gather(worker, message.request)
      latest.set(worker.id, message.metrics)
      if (message.request !== undefined) answered(worker.id, message.request)
    },
    size: () => workers.size,
  }
}

/** Adds up counters. The import is on demand, so that the supervisor stays small. */
async function add(before: MetricsSnapshot, snapshot: MetricsSnapshot): Promise<MetricsSnapshot> {
  const { sumCounters } = await import('../../metrics/snapshots.ts')
  return sumCounters([before, snapshot])
}

/** Metrics of this worker and, through the supervisor, of all workers. */
interface SharedMetrics extends MetricsSharing {
  /** Sends the final metrics of this worker to the supervisor. */
  sendLast(): Promise<void>
}

/** Exceeds the time that the supervisor waits for the workers. */
const gatherTimeoutMs = 5000

export function shareMetrics({ send, onMessage }: Pick<Supervisor, 'send' | 'onMessage'>): SharedMetrics {
  let read: () => Promise<MetricsSnapshot> = async () => []
  const pendingRequests = new Map<number, (all: MetricsSnapshot[]) => void>()
  let count = 0

  onMessage((message) => {
    if (message.kind === 'gathered') return pendingRequests.get(message.request)?.(message.all)
    if (message.kind === 'metrics') void read().then((metrics) => send({ kind: 'metrics', request: message.request, metrics }))
  })

  return {
    provide: (readMetrics) => void (read = readMetrics),
    async gather() {
      const request = ++count
      const { promise, resolve } = Promise.withResolvers<MetricsSnapshot[]>()
      pendingRequests.set(request, resolve)
      // The metrics of this worker are better than none if the supervisor does not answer.
      const timer = setTimeout(() => void read().then((metrics) => resolve([metrics])), gatherTimeoutMs)
      send({ kind: 'gather', request })
      try {
        return await promise
      } finally {
        clearTimeout(timer)
        pendingRequests.delete(request)
      }
    },
    sendLast: async () => send({ kind: 'metrics', metrics: await read() }),
  }
}
