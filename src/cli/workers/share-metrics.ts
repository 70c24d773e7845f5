import type { MetricsSnapshot, MetricsSharing } from '../../metrics/snapshots.ts'
import type { Supervisor } from './processes.ts'

/** A worker's figures, and through its supervisor those of all. */
export interface SharedMetrics extends MetricsSharing {
  /** Tells what this worker has counted before it ends. */
  sendLast(): Promise<void>
}

/** Longer than the supervisor waits for the others. */
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
      // Without an answer its own are better than none.
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
