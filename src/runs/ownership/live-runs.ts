import type { BudgetReader } from '../../budgets/refusal.ts'
import { settlesWithin } from '../../concurrency/settles-within.ts'
import { ServiceError } from '../../errors.ts'
import type { Bus } from '../../replicas/bus.ts'
import { type Ending, endAs, execute } from '../execution/execute.ts'
import { toFailedEnd, isReadFailure, serviceStopping } from '../log/outcome.ts'
import type { OpenRun } from '../open-run.ts'
import { FenceLost, type NewMessage, type RunStore, type Turn } from '../run-store.ts'
import { toNewMessages } from '../window/window.ts'
import { type LiveRun, stopSuperseded } from './live-run.ts'
import type { RunRegistry } from './run-registry.ts'
import type { SessionQueue } from './session-queue.ts'
import { reachState } from '../../states.ts'
import { EndNotStored } from '../execution/finish.ts'
import type { RunPorts } from '../execution/ports.ts'
import type { RemoteRuns } from './remote/remote-runs.ts'

interface LiveRunsDependencies {
  ports: RunPorts
  registry: RunRegistry
  queue: SessionQueue
  remote: Pick<RemoteRuns, 'followElsewhere'>
  bus: Bus
  onEnd(run: LiveRun): void
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Drives local runs from the session queue to the stored end. */
export interface LiveRuns {
  /** Registers a run. Without a `turn` the run waits in the session queue. `ending`: the run ends in this way at its turn, without execution. */
  launch(run: LiveRun, turn: Turn | undefined, ending?: Promise<Ending | undefined>): LiveRun
  /**
   * Launches a run whose begin is committed but not durable yet: the model is asked meanwhile, and no event is kept before `storing` resolves.
   * When `storing` rejects, the run stops without an end.
   */
  launchCommitted(run: LiveRun, turn: Turn, storing: Promise<unknown>): LiveRun
  /** Resolves when the run has its session. The caller counts as a reader from now on, also while the run waits. */
  join(run: LiveRun, disconnected: AbortSignal): Promise<OpenRun>
  /** Waits `ms` at most for the runs, then hands over the rest without an end, for another process to resume. */
  drain(ms: number): Promise<void>
}

export function createLiveRuns(dependencies: LiveRunsDependencies): LiveRuns {
  const { ports, registry, queue, remote, bus, sleep } = dependencies
  const { store, now } = ports
  const handingOver = new AbortController()
  const drive = createDriver(dependencies, handingOver.signal)

  obeyOthers({ registry, bus, store })

  function launch(run: LiveRun, turn: Turn | undefined, ending?: Promise<Ending | undefined>): LiveRun {
    const leave = enter(run)
    if (run.fence > 1) bus.publish('moved', run.key)
    run.isQueued = !turn || run.isAsync
    run.started = (turn ? Promise.resolve(turn) : waitForTurn(run)).catch(async (error: unknown) => {
      registry.remove(run)
      const reason = await reasonOf(run, error, store)
      // Another process has taken the run over; local readers follow the run there.
      if (run.stopCause !== 'handed_over' && reason instanceof ServiceError && reason.cause instanceof FenceLost) {
        reachState('queue-left-fence-lost')
        run.elsewhere = remote.followElsewhere(run)
      } else endLog(run, reason)
      throw reason
    })
    run.ended = run.started.then((startedTurn) => drive(run, startedTurn, leave, ending), leave)
    return run
  }

  function launchCommitted(run: LiveRun, turn: Turn, storing: Promise<unknown>): LiveRun {
    const leave = enter(run)
    run.storing = storing
    run.started = storing.then(
      () => {
        run.storing = undefined
        return turn
      },
      (error: unknown) => {
        reachState('begin-not-durable')
        run.stop('unstored')
        registry.remove(run)
        run.log.fail(toFailedEnd(error))
        throw error
      },
    )
    // Often nobody has joined a run that is not stored.
    run.started.catch(() => undefined)
    run.ended = drive(run, turn, leave)
    return run
  }

  /** Registers a run. The returned function is called at its end. */
  function enter(run: LiveRun): () => void {
    registry.add(run)
    // A run accepted during the drain is handed over at once.
    if (handingOver.signal.aborted) run.stop('handed_over')
    const releaseAgent = run.agent.hold()
    return () => {
      releaseAgent()
      // The end of a run with the first fence concerns another process only if the run is watched.
      if (run.fence > 1 || run.isWatched) bus.publish('moved', run.key)
    }
  }

  function waitForTurn(run: LiveRun): Promise<Turn> {
    reachState('queue-entered')
    const messages = (): NewMessage[] => toNewMessages(run.request, run.key.requestId, now())
    return run.times.during('queue', () => queue.wait(run, messages, run.agent.config.limits.max_session_wait * 1000))
  }

  async function drain(ms: number): Promise<void> {
    await waitForEnds(registry, ms, sleep)
    for (const run of registry.all()) {
      reachState('run-handed-over')
      run.stop('handed_over')
    }
    handingOver.abort()
    await waitForEnds(registry, handOverMs, sleep)
  }

  return { launch, launchCommitted, join, drain }
}

/** Handed over runs stop at once; a tool that ignores the abort is abandoned after this time. */
const handOverMs = 2000

async function join(run: LiveRun, disconnected: AbortSignal): Promise<OpenRun> {
  const detach = run.attach()
  if (disconnected.aborted) detach()
  else disconnected.addEventListener('abort', detach)
  // An async run may start much later: readers are answered at once.
  if (!run.isAsync) {
    try {
      await run.started
    } catch (error) {
      if (!run.elsewhere) throw error
    }
  }
  const ended = run.ended.then(() => run.elsewhere)
  const { key, sessionId, input, request, log, times } = run
  const remaining = run.agent.config.budgets && { remaining: (reader: BudgetReader) => run.meter?.remaining(reader) }
  return { requestId: key.requestId, sessionId, input, hasSchema: Boolean(request.responseSchema), log, ended, times, ...remaining }
}

/** Stops runs that another process has taken over, or is asked to cancel. */
function obeyOthers({ registry, bus, store }: { registry: RunRegistry; bus: Bus; store: Pick<RunStore, 'find'> }): void {
  bus.subscribe('moved', (key) => {
    const run = registry.find(key)
    // The run may have moved to another process.
    if (run) void stopSuperseded(store, [run])
  })
  bus.subscribe('cancel', (key) => {
    const run = registry.find(key)
    if (!run) return
    run.isWatched = true
    run.stop('cancelled')
  })
}

async function waitForEnds(registry: RunRegistry, ms: number, sleep: LiveRunsDependencies['sleep']): Promise<void> {
  await settlesWithin(Promise.all(registry.all().map((run) => run.ended)), ms, sleep)
}

/** Executes a run from its turn to its stored end, or to the end of its readers, and calls `leave` then. Never rejects. */
type Drive = (run: LiveRun, turn: Turn, leave: () => void, ending?: Promise<Ending | undefined>) => Promise<void>

/** `handingOver` is aborted when the local process hands its runs over. */
function createDriver({ ports, registry, queue, remote, onEnd, sleep }: LiveRunsDependencies, handingOver: AbortSignal): Drive {
  const { store, jobs, observer, onFault, now } = ports

  async function drive(run: LiveRun, turn: Turn, leave: () => void, ending?: Promise<Ending | undefined>): Promise<void> {
    run.startedAt = now()
    try {
      const plannedEnd = ending && (await run.times.during('people', () => ending))
      const end = plannedEnd || run.isResumed ? endingOf(run, plannedEnd) : undefined
      const next = await (end ? endAs(end, run, turn, ports) : execute(run, turn, ports))
      if (next) queue.wake(next)
      if (run.log.interrupted) queue.announceInterrupted(run)
      registry.remove(run)
    } catch (error) {
      await handleFailure(run, error)
    }
    observer?.ended(run)
    onEnd(run)
    leave()
  }

  /** An end that could not be stored (disk full, database away) is sent to the readers at once, and retried in the store. */
  async function handleFailure(run: LiveRun, error: unknown): Promise<void> {
    run.meter?.settleRest()
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

const firstRetryMs = 250
const maxRetryMs = 10_000

/** The error for the readers of a run without a stored end. A deleted session takes precedence over all other reasons. */
async function reasonOf(run: LiveRun, error: unknown, store: Pick<RunStore, 'find'>): Promise<unknown> {
  const reason =
    error instanceof FenceLost ? new ServiceError('process_lost', 'Another process has taken over the run.', { cause: error }) : error
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
function endLog({ log, stopCause }: LiveRun, error: unknown): void {
  if (log.ended) return
  if (stopCause === 'handed_over') log.fail(toFailedEnd(serviceStopping()))
  else if (isReadFailure(error)) log.fail(toFailedEnd(error))
  else if (error instanceof ServiceError && error.code === 'cancelled')
    log.append({ type: 'end', reason: 'cancelled', usage: [], thoughts: [] })
  else log.append(toFailedEnd(error))
}
