import type { Socket } from 'node:net'
import type { FromWorker, ToWorker } from './messages.ts'
import type { Processes, WorkerProcess } from './processes.ts'

/** A fake process. Records messages and connections; the test decides its behaviour. */
export interface FakeWorker extends WorkerProcess {
  told: ToWorker[]
  given: Socket[]
  signals: string[]
  says(message: FromWorker): void
  ends(how: number | NodeJS.Signals): void
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
    start({ heard, ended }) {
      const told: ToWorker[] = []
      const given: Socket[] = []
      const signals: string[] = []
      const worker: FakeWorker = {
        id: started.length + 1,
        pid: undefined,
        told,
        given,
        signals,
        tell: (message) => void told.push(message),
        give: (connection) => void given.push(connection),
        stop: (signal) => void signals.push(signal),
        says: heard,
        ends: ended,
      }
      started.push(worker)
      for (const resolve of waiting.splice(0)) resolve()
      return worker
    },
  }
}

export const ready: FromWorker = { kind: 'ready', adminKeyFile: '/data/admin.key', advice: [], example: '' }
