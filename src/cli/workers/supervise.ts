import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { CommandFailure } from '../terminal.ts'
import type { Connections } from './connections.ts'
import type { Ready } from './messages.ts'
import type { Processes } from './processes.ts'
import { createWorkers, type End, type Running, type Workers } from './workers.ts'

export interface Supervision {
  processes: Processes
  connections: Connections
  /** How clients reach them, where no other address is set. */
  url: string
  /** How many workers there are to be. */
  count: number
  /** Aborted: they are stopped. */
  stopping: AbortSignal
  /** How long connections are still taken then; default: not any more. */
  noticeMs?: number
  /** What they get, from when they are asked to stop until they are ended. */
  stopMs: number
  log: Logger
  /** Called once, when all serve. */
  onReady(ready: Ready): void
  /** How long is waited until one that ended is started again: the first time, and at most. */
  pauseMs?: { first: number; most: number }
}

const defaultPauses = { first: 250, most: 30_000 }

/** Who served for so long did not end because of what it met at its start. */
const steadyMs = 60_000

/**
 * Keeps so many workers running until it is asked to stop, and serves nothing itself. The first one migrates and makes what is missing;
 * the others are started when it serves. Fails where it never does, and where some did not end as they should.
 */
export async function supervise(options: Supervision): Promise<void> {
  const { connections, count, stopping, stopMs, noticeMs = 0 } = options
  let isTold = false
  function onReady(serving: number, ready: Ready): void {
    if (isTold || serving < count) return
    isTold = true
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
    const ends = await Promise.all(all.map((running) => keep(running, workers, options)))
    const bad = ends.filter((how) => !isProper(how)).length
    if (bad > 0) throw new CommandFailure(1, [`${bad} of ${ends.length} workers did not end as they should.`])
  } finally {
    stopping.removeEventListener('abort', stop)
    connections.close()
    workers.stop(0)
  }
}

/** What a worker itself found wrong it has told on its standard error. */
function failFirst(how: End, stopping: AbortSignal): void {
  if (stopping.aborted && isProper(how)) return
  if (how === 1 || how === 2) throw new CommandFailure(how, [])
  throw new CommandFailure(1, [`The first worker ended (${how}) before it could serve.`])
}

/** One that had not begun to run ends by the signal itself. */
function isProper(how: End): boolean {
  return how === 0 || how === 'SIGTERM'
}

/** Starts another one whenever one ends, and answers with how the last one ended. */
async function keep(first: Running, workers: Workers, { stopping, log, pauseMs = defaultPauses }: Supervision): Promise<End> {
  let running = first
  for (let failures = 0; ;) {
    const startedAt = performance.now()
    const how = await running.ended
    if (stopping.aborted) return how
    failures = performance.now() - startedAt < steadyMs ? failures + 1 : 0
    const waitMs = failures === 0 ? 0 : Math.min(pauseMs.first * 2 ** (failures - 1), pauseMs.most)
    log.error({ worker: running.worker.id, pid: running.worker.pid, how, waitMs }, 'A worker ended; another is started')
    await pause(waitMs, undefined, { signal: stopping }).catch(() => undefined)
    if (stopping.aborted) return 0
    running = workers.launch()
  }
}
