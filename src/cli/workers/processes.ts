import cluster from 'node:cluster'
import type { Worker } from 'node:cluster'
import { Socket } from 'node:net'
import type { MetricsSnapshot } from '../../metrics/snapshots.ts'

/** Messages between the supervisor, which serves no requests, and its workers. */

/** Facts about a started service, printed at the start. */
export interface ReadyInfo {
  /** Path of the admin key. */
  adminKeyFile: string
  /** Lines about the models. */
  advice: readonly string[]
  /** A question to try: the first conversation starter. */
  example: string
}

export type FromWorker =
  /** The worker listens for messages. */
  | { kind: 'hello' }
  /** The worker accepts connections. */
  | ({ kind: 'ready' } & ReadyInfo)
  /** The worker has received a connection. */
  | { kind: 'taken' }
  /** The worker accepts no more connections. */
  | { kind: 'leaving' }
  /** Requests the metrics of all workers. */
  | { kind: 'gather'; request: number }
  /** Metrics of the worker. `request` is absent on the last metrics, sent before the worker exits. */
  | { kind: 'metrics'; request?: number; metrics: MetricsSnapshot }

export type ToWorker =
  /** The answer to `hello`: how connections reach the service. */
  | { kind: 'address'; url: string }
  /** Sent along with the handle of a connection. */
  | { kind: 'connection' }
  | { kind: 'metrics'; request: number }
  | { kind: 'gathered'; request: number; all: MetricsSnapshot[] }

/** Port that starts further processes of this program with the same arguments. */
export interface Processes {
  start(listeners: WorkerListeners): WorkerProcess
}

/** A worker as seen by the supervisor. Messages and connections to an exited worker are dropped. */
export interface WorkerProcess {
  /** Number from 1, never reused. */
  readonly id: number
  readonly pid: number | undefined
  send(message: ToWorker): void
  /** Passes a connection of which no byte has been read. This process keeps its own handle. */
  passConnection(connection: Socket): void
  stop(signal: 'SIGTERM' | 'SIGKILL'): void
}

interface WorkerListeners {
  onMessage(message: FromWorker): void
  /** Called once, after the last message, with the exit code or the signal that ended the worker. */
  onEnd(end: number | NodeJS.Signals): void
}

/** Does not use Node's port sharing, which leaves a connection open and unanswered if its worker dies while the connection is being passed. */
export function createProcesses(): Processes {
  // Metrics contain NaN, which JSON cannot represent.
  cluster.setupPrimary({ serialization: 'advanced' })
  return {
    start({ onMessage, onEnd }) {
      const worker = cluster.fork()
      worker.on('message', onMessage)
      // `close`, because `disconnect` never comes while a connection is being passed, and messages may follow `exit`.
      worker.process.once('close', (code, signal) => onEnd(signal ?? code ?? 1))
      // `error` means a failed start or a failed send. The end of a started worker is reported by `close`.
      worker.on('error', () => worker.process.pid === undefined && onEnd(1))
      return {
        id: worker.id,
        pid: worker.process.pid,
        send: (message) => send(worker, message),
        passConnection(connection) {
          const message: ToWorker = { kind: 'connection' }
          if (worker.isConnected()) worker.send(message, connection, { keepOpen: true }, () => undefined)
        },
        stop: (signal) => void worker.process.kill(signal),
      }
    },
  }
}

/** Channel of a worker to the process that started the worker. */
export interface Supervisor {
  /** Number of this worker. */
  readonly id: number
  readonly pid: number | undefined
  send(message: FromWorker): void
  onMessage(listener: (message: ToWorker, connection?: Socket) => void): void
  /** Until this call, this process exits as soon as the supervisor does. After the call, the signal is aborted instead, and the worker stops itself. */
  outlive(): AbortSignal
  /** Closes the channel, so that the worker can exit. */
  leave(): void
}

/** The supervisor of this process; undefined if this process is no worker. */
export function findSupervisor(): Supervisor | undefined {
  const { worker } = cluster
  if (!worker) return undefined
  return {
    id: worker.id,
    pid: worker.process.pid,
    send: (message) => send(worker, message),
    onMessage: (listener) =>
      void worker.on('message', (message: ToWorker, handle: unknown) => listener(message, handle instanceof Socket ? handle : undefined)),
    outlive() {
      const disconnected = new AbortController()
      worker.once('disconnect', () => {
        // Node checks this flag after the event, and exits the process at once if the flag is false.
        worker.exitedAfterDisconnect = true
        disconnected.abort()
      })
      return disconnected.signal
    },
    leave: () => void (worker.isConnected() && worker.disconnect()),
  }
}

function send(worker: Worker, message: ToWorker | FromWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}
