import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { CommandFailure } from '../terminal.ts'
import type { Connections } from './connections.ts'
import type { ReadyInfo, Processes, FromWorker, WorkerProcess } from './processes.ts'
import { gatherMetrics } from './gather-metrics.ts'

interface Supervision {
  processes: Processes
  connections: Connections
  /** Address of the service, unless PUBLIC_URL is set. */
  url: string
  /** Number of workers to keep running. */
  count: number
  /** Aborted to stop the workers. */
  stopping: AbortSignal
  /** Milliseconds in which connections are still accepted after the stop; default 0. */
  noticeMs?: number
  /** Milliseconds between SIGTERM and SIGKILL. */
  stopMs: number
  log: Logger
  /** Called once, when all workers serve. */
  onReady(ready: ReadyInfo): void
  /** Milliseconds before a worker is restarted: the first pause, which doubles up to the longest pause. */
  pauseMs?: { first: number; longest: number }
}

const defaultPauses = { first: 250, longest: 30_000 }

/** Uptime after which a failure of a worker is not a failed start: the count of failures begins again at 0. */
const stableMs = 60_000

/**
 * Keeps `count` workers running until `stopping` is aborted, and serves no requests itself. The first worker migrates the database and
 * creates missing files; the other workers start once the first serves. Fails if the first worker never serves, or if workers exit badly.
 */
export async function supervise(options: Supervision): Promise<void> {
  const { connections, count, stopping, stopMs, noticeMs = 0 } = options
  let isReported = false
  function onReady(serving: number, ready: ReadyInfo): void {
    if (isReported || serving < count) return
    isReported = true
    options.onReady(ready)
  }
  const workers = createWorkers({ ...options, onReady })
  const stop = () => {
    setTimeout(connections.close, noticeMs).unref()
    workers.stop(stopMs)
  }
  stopping.addEventListener('abort', stop, { once: true })
  try {
    if (stopping.aborted) return
    const first = workers.launch()
    if (!(await first.ready)) return failFirst(await first.ended, stopping)
    const all = [first, ...Array.from({ length: stopping.aborted ? 0 : count - 1 }, () => workers.launch())]
    const ends = await Promise.all(all.map((running) => keepRunning(running, workers, options)))
    const uncleanCount = ends.filter((end) => !isCleanEnd(end)).length
    if (uncleanCount > 0) throw new CommandFailure(1, [`${uncleanCount} of ${ends.length} workers did not exit cleanly.`])
  } finally {
    stopping.removeEventListener('abort', stop)
    connections.close()
    workers.stop(0)
  }
}

/** Fails with the exit code of the first worker, which has printed its error itself. */
function failFirst(end: WorkerEnd, stopping: AbortSignal): void {
  if (stopping.aborted && isCleanEnd(end)) return
  if (end === 1 || end === 2) throw new CommandFailure(end, [])
  throw new CommandFailure(1, [`The first worker exited (${end}) before it could serve.`])
}

/** SIGTERM is clean too: it ends a worker that has no signal handler yet. */
function isCleanEnd(end: WorkerEnd): boolean {
  return end === 0 || end === 'SIGTERM'
}

/** Restarts a worker whenever it exits, and resolves with the end of the last process. */
async function keepRunning(
  first: RunningWorker,
  workers: Workers,
  { stopping, log, pauseMs = defaultPauses }: Supervision,
): Promise<WorkerEnd> {
  let running = first
  for (let failures = 0; ;) {
    const startedAt = performance.now()
    const end = await running.ended
    if (stopping.aborted) return end
    failures = performance.now() - startedAt < stableMs ? failures + 1 : 0
    const waitMs = failures === 0 ? 0 : Math.min(pauseMs.first * 2 ** (failures - 1), pauseMs.longest)
    log.error({ worker: running.worker.id, pid: running.worker.pid, how: end, waitMs }, 'A worker exited; another is started')
    await pause(waitMs, undefined, { signal: stopping }).catch(() => undefined)
    if (stopping.aborted) return 0
    running = workers.launch()
  }
}

/** Exit code of a worker, or the signal that ended the worker. */
type WorkerEnd = number | NodeJS.Signals

interface RunningWorker {
  worker: WorkerProcess
  /** Resolves with true once the worker serves, with false if the worker exits before. */
  ready: Promise<boolean>
  ended: Promise<WorkerEnd>
}

/** The running workers. */
interface Workers {
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

function createWorkers({ processes, connections, url, log, onReady }: WorkersOptions): Workers {
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
