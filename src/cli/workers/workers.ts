import type { Logger } from 'pino'
import type { Connections } from './connections.ts'
import { gatherMetrics } from './gather-metrics.ts'
import type { FromWorker, ReadyInfo, Processes, WorkerProcess } from './processes.ts'

/** Exit code of a worker, or the signal that ended the worker. */
export type WorkerEnd = number | NodeJS.Signals

export interface RunningWorker {
  worker: WorkerProcess
  /** Resolves with true once the worker serves, with false if the worker exits before. */
  ready: Promise<boolean>
  ended: Promise<WorkerEnd>
}

/** The running workers. */
export interface Workers {
  launch(): RunningWorker
  /** Sends SIGTERM to all workers, and SIGKILL to workers still running `afterMs` milliseconds later. */
  stop(afterMs: number): void
}

interface WorkersOptions {
  processes: Processes
  connections: Connections
  url: string
  log: Logger
  /** Called with the number of workers that serve now. */
  onReady(serving: number, ready: ReadyInfo): void
}

export function createWorkers({ processes, connections, url, log, onReady }: WorkersOptions): Workers {
  const alive = new Set<WorkerProcess>()
  const metrics = gatherMetrics()

  function serve(worker: WorkerProcess, ready: ReadyInfo): void {
    metrics.join(worker)
    connections.join(worker)
    log.info({ worker: worker.id, pid: worker.pid }, 'A worker serves')
    onReady(metrics.size(), ready)
  }

  function receive(worker: WorkerProcess, message: Exclude<FromWorker, { kind: 'ready' }>): void {
    if (message.kind === 'hello') worker.send({ kind: 'address', url })
    else if (message.kind === 'taken') connections.acknowledge(worker)
    else if (message.kind === 'leaving') connections.leave(worker)
    else metrics.receive(worker, message)
  }

  function launch(): RunningWorker {
    const ready = Promise.withResolvers<boolean>()
    const ended = Promise.withResolvers<WorkerEnd>()
    const worker = processes.start({
      onMessage(message) {
        if (message.kind !== 'ready') return receive(worker, message)
        serve(worker, message)
        ready.resolve(true)
      },
      onEnd(end) {
        connections.remove(worker)
        metrics.leave(worker)
        alive.delete(worker)
        ready.resolve(false)
        ended.resolve(end)
      },
    })
    alive.add(worker)
    return { worker, ready: ready.promise, ended: ended.promise }
  }

  return {
    launch,
    stop(afterMs) {
      for (const worker of alive) worker.stop('SIGTERM')
      const end = () => {
        for (const worker of alive) worker.stop('SIGKILL')
      }
      setTimeout(end, afterMs).unref()
    },
  }
}
