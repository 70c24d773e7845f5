import cluster, { type Worker } from 'node:cluster'
import { Socket } from 'node:net'
import type { FromWorker, ToWorker } from './messages.ts'

/** Port: processes of this program, with its arguments. */
export interface Processes {
  start(listeners: Listeners): WorkerProcess
}

/** What can't be told or given, because it is gone, is not. */
export interface WorkerProcess {
  /** Counted from 1; never used again. */
  readonly id: number
  readonly pid: number | undefined
  tell(message: ToWorker): void
  /** A connection that nobody has read from; this process keeps its own handle. */
  give(connection: Socket): void
  stop(signal: 'SIGTERM' | 'SIGKILL'): void
}

interface Listeners {
  heard(message: FromWorker): void
  /** Once, when all that it has told was heard; with the exit code, or the signal that ended it. */
  ended(how: number | NodeJS.Signals): void
}

/** Node's own sharing of ports is not used: a connection that was on its way to a worker that dies stays open there, without an answer. */
export function createProcesses(): Processes {
  // Figures hold NaN, which JSON has not.
  cluster.setupPrimary({ serialization: 'advanced' })
  return {
    start({ heard, ended }) {
      const worker = cluster.fork()
      worker.on('message', heard)
      // Not `disconnect`, which never comes where a connection was on its way; nor `exit`, behind which messages may come.
      worker.process.once('close', (code, signal) => ended(signal ?? code ?? 1))
      // It could not be started, or not be told something; the end of one that was started comes as `close`.
      worker.on('error', () => worker.process.pid === undefined && ended(1))
      return {
        id: worker.id,
        pid: worker.process.pid,
        tell: (message) => send(worker, message),
        give(connection) {
          const message: ToWorker = { kind: 'connection' }
          if (worker.isConnected()) worker.send(message, connection, { keepOpen: true }, () => undefined)
        },
        stop: (signal) => void worker.process.kill(signal),
      }
    },
  }
}

/** A worker's way to the process that started it. */
export interface Supervisor {
  /** This worker's. */
  readonly id: number
  readonly pid: number | undefined
  tell(message: FromWorker): void
  onMessage(listener: (message: ToWorker, connection?: Socket) => void): void
  /** Until this is asked for, this process ends with that one, at once. From then on it ends by itself when this is aborted. */
  outlive(): AbortSignal
  /** Lets go of it: the worker can end. */
  leave(): void
}

/** Undefined where this process is no worker. */
export function findSupervisor(): Supervisor | undefined {
  const { worker } = cluster
  if (!worker) return undefined
  return {
    id: worker.id,
    pid: worker.process.pid,
    tell: (message) => send(worker, message),
    onMessage: (listener) =>
      void worker.on('message', (message: ToWorker, handle: unknown) => listener(message, handle instanceof Socket ? handle : undefined)),
    outlive() {
      const gone = new AbortController()
      worker.once('disconnect', () => {
        // What Node looks at behind this event: else it ends the process here, with all that it runs.
        worker.exitedAfterDisconnect = true
        gone.abort()
      })
      return gone.signal
    },
    leave: () => void (worker.isConnected() && worker.disconnect()),
  }
}

function send(worker: Worker, message: ToWorker | FromWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}
