import { ServiceError } from '../../../errors.ts'
import { serviceStopping } from '../../log/outcome.ts'
import type { EventLog } from '../../log/event-log.ts'
import type { RunKey } from '../../run.ts'
import { runKeyText } from '../run-registry.ts'
import type { LiveRun } from '../live-run.ts'
import { hasSchema, type OpenRun } from '../../open-run.ts'
import type { StoredRun } from '../../run-store.ts'
import { RemoteRun, type RemoteRunDependencies } from './remote-run.ts'

interface RemoteRunsDependencies extends RemoteRunDependencies {
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Remote runs that have local readers. The readers of a run share a copy of the log. */
export interface RemoteRuns {
  /** Opens an unended run of another process. */
  open(run: StoredRun, disconnected: AbortSignal): OpenRun
  /** Copies the log of an unended run of another process without counting as a reader of the run, until `close`. */
  observe(run: StoredRun): ObservedRun
  /** Continues the log of a run that another process has taken over, from there. Resolves when the log has its end. */
  followElsewhere(run: LiveRun): Promise<void>
  /** Waits `ms` at most for the ends of the runs, then ends the logs of the remaining readers. */
  drain(ms: number): Promise<void>
}

export interface ObservedRun {
  log: EventLog
  close(): void
}

interface SharedRun {
  run: RemoteRun
  readers: number
}

export function createRemoteRuns(deps: RemoteRunsDependencies): RemoteRuns {
  const { bus } = deps
  const runs = new Map<string, SharedRun>()
  /** Copies without readers, by the key of their run. */
  const observed = new Map<string, RemoteRun>()
  const copiesOf = (key: RunKey) => [runs.get(runKeyText(key))?.run, observed.get(runKeyText(key))]
  bus.subscribe('readable', ({ fence, ...key }) => copiesOf(key).forEach((run) => run?.onReadable(fence)))
  bus.subscribe('moved', (key) => copiesOf(key).forEach((run) => run?.onMoved()))
  bus.onGap(() => [...[...runs.values()].map(({ run }) => run), ...observed.values()].forEach((run) => run.onMoved()))

  function add(name: string, run: RemoteRun): SharedRun {
    const shared = { run, readers: 0 }
    runs.set(name, shared)
    void run.ended.then(() => runs.get(name) === shared && runs.delete(name))
    return shared
  }

  function open(stored: StoredRun, disconnected: AbortSignal): OpenRun {
    const name = runKeyText(stored)
    const opened = runs.get(name)
    const shared = opened && !opened.run.log.ended ? opened : add(name, new RemoteRun(stored, deps))
    shared.readers++
    const leave = () => {
      shared.readers--
      if (shared.readers === 0) shared.run.close(callerGone())
    }
    if (disconnected.aborted) leave()
    else disconnected.addEventListener('abort', leave, { once: true })
    const { requestId, sessionId, request } = stored
    const input = request?.messages.at(-1)?.content ?? ''
    return { requestId, sessionId, input, hasSchema: hasSchema(stored), log: shared.run.log, ended: shared.run.ended }
  }

  function observe(stored: StoredRun): ObservedRun {
    const name = runKeyText(stored)
    const run = new RemoteRun(stored, { ...deps, isObserver: true })
    observed.set(name, run)
    void run.ended.then(() => observed.get(name) === run && observed.delete(name))
    return { log: run.log, close: () => run.close(callerGone()) }
  }

  async function followElsewhere(lostRun: LiveRun): Promise<void> {
    const { key, fence, log } = lostRun
    const run = new RemoteRun({ ...key, fence: fence + 1 }, deps, { log, fence })
    lostRun.onNoReaders = () => run.close(callerGone())
    if (!lostRun.hasReaders) lostRun.onNoReaders()
    // New readers share the log with the readers of the lost run.
    add(runKeyText(key), run).readers++
    await run.ended
  }

  async function drain(ms: number): Promise<void> {
    const done = new AbortController()
    const all = Promise.all([...runs.values()].map(({ run }) => run.ended)).finally(() => done.abort())
    await Promise.race([all, deps.sleep(ms, done.signal).catch(() => undefined)])
    for (const { run } of runs.values()) run.close(serviceStopping())
    for (const run of observed.values()) run.close(serviceStopping())
  }

  return { open, observe, followElsewhere, drain }
}

function callerGone(): ServiceError {
  return new ServiceError('cancelled', 'The caller has gone.')
}
