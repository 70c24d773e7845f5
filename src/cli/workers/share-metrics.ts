import type { MetricsSnapshot, MetricsSharing } from '../../metrics/snapshots.ts'
import type { Supervisor } from './processes.ts'

/** Metrics of this worker and, through the supervisor, of all workers. */
export interface SharedMetrics extends MetricsSharing {
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
