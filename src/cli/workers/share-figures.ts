import type { Figures, FigureSharing } from '../../metrics/figures.ts'
import type { Supervisor } from './processes.ts'

/** A worker's figures, and through its supervisor those of all. */
export interface SharedFigures extends FigureSharing {
  /** Tells what this worker has counted before it ends. */
  tellLast(): Promise<void>
}

/** Longer than the supervisor waits for the others. */
const patienceMs = 5000

export function shareFigures({ tell, onMessage }: Pick<Supervisor, 'tell' | 'onMessage'>): SharedFigures {
  let read: () => Promise<Figures> = async () => []
  const asked = new Map<number, (all: Figures[]) => void>()
  let count = 0

  onMessage((message) => {
    if (message.kind === 'gathered') return asked.get(message.request)?.(message.all)
    if (message.kind === 'figures') void read().then((figures) => tell({ kind: 'figures', request: message.request, figures }))
  })

  return {
    offer: (own) => void (read = own),
    async gather() {
      const request = ++count
      const { promise, resolve } = Promise.withResolvers<Figures[]>()
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
    tellLast: async () => tell({ kind: 'figures', figures: await read() }),
  }
}
