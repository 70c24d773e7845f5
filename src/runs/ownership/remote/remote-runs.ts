import { ServiceError } from '../../../errors.ts'
import { serviceStopping } from '../../log/outcome.ts'
import { runKeyText } from '../../run.ts'
import type { LiveRun } from '../live-run.ts'
import type { OpenRun } from '../../open-run.ts'
import type { StoredRun } from '../../run-store.ts'
import { RemoteRun, type RemoteRunDependencies } from './remote-run.ts'

interface RemoteRunsDependencies extends RemoteRunDependencies {
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** The runs of other processes that are read in this one; each is followed once, however many read it. */
export interface RemoteRuns {
  /** An unended run, to follow as one of this process. */
  open(run: StoredRun, left: AbortSignal): OpenRun
  /** A run that this process had and lost: its log goes on with what is told where it is now; resolves with its end. */
  followElsewhere(run: LiveRun): Promise<void>
  /** Waits for their ends, `ms` at most, and sends away who reads then. */
  drain(ms: number): Promise<void>
}

export function createRemoteRuns(deps: RemoteRunsDependencies): RemoteRuns {
  const { bus } = deps
  const runs = new Map<string, { run: RemoteRun; readers: number }>()
  bus.subscribe('readable', ({ fence, ...key }) => runs.get(runKeyText(key))?.run.onReadable(fence))
  bus.subscribe('moved', (key) => runs.get(runKeyText(key))?.run.onMoved())
  bus.onGap(() => runs.forEach(({ run }) => run.onMoved()))

  function follow(name: string, run: RemoteRun): { run: RemoteRun; readers: number } {
    const one = { run, readers: 0 }
    runs.set(name, one)
    void one.run.ended.then(() => runs.get(name) === one && runs.delete(name))
    return one
  }

  function open(stored: StoredRun, left: AbortSignal): OpenRun {
    const name = runKeyText(stored)
    const known = runs.get(name)
    const one = known && !known.run.log.ended ? known : follow(name, new RemoteRun(stored, deps))
    one.readers++
    const leave = () => {
      one.readers--
      if (one.readers === 0) one.run.close(callerGone())
    }
    if (left.aborted) leave()
    else left.addEventListener('abort', leave, { once: true })
    const { requestId, sessionId, request } = stored
    const input = request?.messages.at(-1)?.content ?? ''
    return { requestId, sessionId, input, log: one.run.log, ended: one.run.ended }
  }

  async function goOn(lost: LiveRun): Promise<void> {
    const { key, fence, log } = lost
    const run = new RemoteRun({ ...key, fence: fence + 1 }, deps, { log, fence })
    lost.onNoReaders = () => run.close(callerGone())
    if (!lost.hasReaders) lost.onNoReaders()
    // Who comes now reads with those who are there.
    follow(runKeyText(key), run).readers++
    await run.ended
  }

  async function drain(ms: number): Promise<void> {
    const done = new AbortController()
    const all = Promise.all([...runs.values()].map(({ run }) => run.ended)).finally(() => done.abort())
    await Promise.race([all, deps.sleep(ms, done.signal).catch(() => undefined)])
    for (const { run } of runs.values()) run.close(serviceStopping())
  }

  return { open, followElsewhere: goOn, drain }
}

function callerGone(): ServiceError {
  return new ServiceError('cancelled', 'The caller has gone.')
}
