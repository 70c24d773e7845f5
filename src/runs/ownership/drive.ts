import { ServiceError } from '../../errors.ts'
import { endAs, execute, type Ending } from '../execution/execute.ts'
import { EndNotStored } from '../execution/finish.ts'
import type { RunPorts } from '../execution/ports.ts'
import { isReadFailure, serviceStopping, toFailedEnd } from '../log/outcome.ts'
import { FenceLost, type RunStore, type Turn } from '../run-store.ts'
import type { LiveRun } from './live-run.ts'
import type { RunRegistry } from './locate.ts'
import type { RemoteRuns } from './remote/remote-runs.ts'
import type { SessionQueue } from './session-queue.ts'
import { reachState } from '../../states.ts'

export interface DriverDependencies {
  ports: RunPorts
  registry: Pick<RunRegistry, 'remove'>
  queue: Pick<SessionQueue, 'wake' | 'announceInterrupted'>
  remote: Pick<RemoteRuns, 'followElsewhere'>
  onEnd(run: LiveRun): void
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Aborted when the local process hands its runs over. */
  handingOver: AbortSignal
}

/** Executes a run from its turn to its stored end, or to the end of its readers. Never rejects. */
export type Drive = (run: LiveRun, turn: Turn, ending?: Promise<Ending | undefined>) => Promise<void>

export function createDriver({ ports, registry, queue, remote, onEnd, sleep, handingOver }: DriverDependencies): Drive {
  const { store, jobs, observer, onFault, now } = ports

  async function drive(run: LiveRun, turn: Turn, ending: Promise<Ending | undefined> = noEnding): Promise<void> {
    run.startedAt = now()
    try {
      const end = endingOf(run, await (ending === noEnding ? ending : run.times.during('people', () => ending)))
      const next = await (end ? endAs(end, run, turn, ports) : execute(run, turn, ports))
      if (next) queue.wake(next)
      if (run.log.interrupted) queue.announceInterrupted(run)
      registry.remove(run)
    } catch (error) {
      await handleFailure(run, error)
    }
    observer?.ended(run)
    onEnd(run)
  }

  /** An end that could not be stored (disk full, database away) is sent to the readers at once, and retried in the store. */
  async function handleFailure(run: LiveRun, error: unknown): Promise<void> {
    if (run.stopCause === 'unstored') return
    if (error instanceof EndNotStored) {
      reachState('end-not-stored')
      onFault(run, error.cause)
      run.log.append(error.end)
      void storeEnd(run, error).finally(() => registry.remove(run))
      return
    }
    registry.remove(run)
    const isFenceLost = error instanceof FenceLost
    if (isFenceLost && run.stopCause !== 'handed_over') {
      if (run.hasReaders) reachState('readers-moved')
      return void (run.elsewhere = remote.followElsewhere(run))
    }
    if (!isFenceLost && run.stopCause !== 'handed_over') onFault(run, error)
    endLog(run, await reasonOf(run, error, store))
  }

  async function storeEnd(run: LiveRun, { ended }: EndNotStored): Promise<void> {
    for (let delayMs = firstRetryMs; !handingOver.aborted; delayMs = Math.min(delayMs * 2, maxRetryMs)) {
      await sleep(delayMs, handingOver).catch(() => undefined)
      try {
        queue.wake(await store.finish(run.key, run.fence, ended))
        reachState('end-stored-late')
        return jobs.wake(...ended.jobs.map(({ kind }) => kind))
      } catch (error) {
        if (error instanceof FenceLost) return
      }
    }
  }

  return drive
}

const noEnding = Promise.resolve(undefined)

const firstRetryMs = 250
const maxRetryMs = 10_000

/** The error for the readers of a run without a stored end. A deleted session takes precedence over all other reasons. */
export async function reasonOf(run: LiveRun, error: unknown, store: Pick<RunStore, 'find'>): Promise<unknown> {
  const reason = error instanceof FenceLost ? superseded(error) : error
  if (run.stopCause === 'handed_over' || !(reason instanceof ServiceError)) return reason
  const stored = await store.find(run.key).catch((failure: unknown) => failure)
  return stored instanceof ServiceError && stored.code === 'gone' ? stored : reason
}

/**
 * How a run ends at its turn without execution. An explicit stop during the reconnect grace wins over `orphaned`. An orphaned run may get its
 * turn before the stop.
 */
function endingOf(run: LiveRun, ending: Ending | undefined): Ending | undefined {
  const isStopped = run.signal.aborted && run.stopCause !== 'orphaned'
  if (ending === 'orphaned' && isStopped) return undefined
  return ending ?? (run.isResumed && run.stopCause === 'cancelled' ? 'cancelled' : undefined)
}

/** Ends the log of a run that left the session queue or was handed over. Where another process resumes the run, the end is no event of the run. */
export function endLog({ log, stopCause }: LiveRun, error: unknown): void {
  if (log.ended) return
  if (stopCause === 'handed_over') log.fail(toFailedEnd(serviceStopping()))
  else if (isReadFailure(error)) log.fail(toFailedEnd(error))
  else if (error instanceof ServiceError && error.code === 'cancelled')
    log.append({ type: 'end', reason: 'cancelled', usage: [], thoughts: [] })
  else log.append(toFailedEnd(error))
}

function superseded(cause: unknown): ServiceError {
  return new ServiceError('process_lost', 'Another process has taken over the run.', { cause })
}
