import type { MetricsSnapshot, MetricsSharing } from '../../metrics/snapshots.ts'
import type { Supervisor } from './processes.ts'

/** Metrics of this worker and, through the supervisor, of all workers. */
export interface SharedMetrics extends MetricsSharing {
  /** Sends the final metrics of this worker to the supervisor. */
  sendLast(): Promise<void>
}

/** Exceeds the time that the supervisor waits for the workers. */
const patienceMs = 5000

export function shareMetrics({ tell, onMessage }: Pick<Supervisor, 'tell' | 'onMessage'>): SharedMetrics {
  let read: () => Promise<MetricsSnapshot> = async () => []
  const asked = new Map<number, (all: MetricsSnapshot[]) => void>()
  let count = 0

  onMessage((message) => {
    if (message.kind === 'gathered') return asked.get(message.request)?.(message.all)
    if (message.kind === 'metrics') void read().then((metrics) => tell({ kind: 'metrics', request: message.request, metrics }))
  })

  return {
    provide: (own) => void (read = own),
    async gather() {
      const request = ++count
      const { promise, resolve } = Promise.withResolvers<MetricsSnapshot[]>()
      asked.set(request, resolve)
      // Without an answer of the supervisor, the metrics of this worker are better than no metrics.
      const timer = setTimeout(() => void read().then((own) => resolve([own])), patienceMs)
      tell({ kind: 'gather', request })
      try {
        return await promise
      } finally {
        clearTimeout(timer)
        asked.delete(request)
      }
    },
    sendLast: async () => tell({ kind: 'metrics', metrics: await read() }),
  }
}
