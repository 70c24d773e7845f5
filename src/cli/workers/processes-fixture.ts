import type { Socket } from 'node:net'
import type { FromWorker, ToWorker, Processes, WorkerProcess } from './processes.ts'

/** A fake process. Records messages and connections; the test decides its behaviour. */
export interface FakeWorker extends WorkerProcess {
  sentMessages: ToWorker[]
  connections: Socket[]
  signals: string[]
  emitMessage(message: FromWorker): void
  emitEnd(end: number | NodeJS.Signals): void
}

export interface FakeProcesses extends Processes {
  started: FakeWorker[]
  /** Resolves with the n-th started worker, counted from 1. */
  nth(n: number): Promise<FakeWorker>
}

export function createFakeProcesses(): FakeProcesses {
  const started: FakeWorker[] = []
  const waiting: (() => void)[] = []
  return {
    started,
    async nth(n) {
      while (started.length < n) await new Promise<void>((resolve) => waiting.push(resolve))
      return started[n - 1]!
    },
    start({ onMessage, onEnd }) {
      const sentMessages: ToWorker[] = []
      const connections: Socket[] = []
      const signals: string[] = []
      const worker: FakeWorker = {
        id: started.length + 1,
        pid: undefined,
        sentMessages,
        connections,
        signals,
        send: (message) => void sentMessages.push(message),
        passConnection: (connection) => void connections.push(connection),
        stop: (signal) => void signals.push(signal),
        emitMessage: onMessage,
        emitEnd: onEnd,
      }
      started.push(worker)
      for (const resolve of waiting.splice(0)) resolve()
      return worker
    },
  }
}

export const ready: FromWorker = { kind: 'ready', adminKeyFile: '/data/admin.key', advice: [], example: '' }
