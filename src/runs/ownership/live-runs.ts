import { createDriver, endLog, reasonOf, type DriverDependencies } from './drive.ts'
import { settlesWithin } from '../../concurrency/settles-within.ts'
import { ServiceError } from '../../errors.ts'
import type { Bus } from '../../replicas/bus.ts'
import type { Ending } from '../execution/execute.ts'
import { toFailedEnd } from '../log/outcome.ts'
import type { OpenRun } from '../open-run.ts'
import { FenceLost, type NewMessage, type RunStore, type Turn } from '../run-store.ts'
import { toNewMessages } from '../window/window.ts'
import { type LiveRun, stopSuperseded } from './live-run.ts'
import type { RunRegistry } from './locate.ts'
import type { SessionQueue } from './session-queue.ts'
import { reachState } from '../../states.ts'

interface LiveRunsDependencies extends Omit<DriverDependencies, 'handingOver'> {
  registry: RunRegistry
  queue: SessionQueue
  bus: Bus
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

export function createLiveRuns({ ports, registry, queue, remote, bus, onEnd, sleep }: LiveRunsDependencies): LiveRuns {
  const { store, now } = ports
  const handingOver = new AbortController()
  const drive = createDriver({ ports, registry, queue, remote, onEnd, sleep, handingOver: handingOver.signal })

  obeyOthers({ registry, bus, store })

  function launch(run: LiveRun, turn: Turn | undefined, ending?: Promise<Ending | undefined>): LiveRun {
    const leave = enter(run)
    if (run.fence > 1) bus.publish('moved', run.key)
    run.isQueued = !turn || run.isAsync
    run.started = (turn ? Promise.resolve(turn) : waitForTurn(run)).catch(async (error: unknown) => {
      registry.remove(run)
      const reason = await reasonOf(run, error, store)
      if (isSuperseded(run, reason)) {
        reachState('queue-left-fence-lost')
        run.elsewhere = remote.followElsewhere(run)
      } else endLog(run, reason)
      throw reason
    })
    run.ended = run.started
      .then(
        (startedTurn) => drive(run, startedTurn, ending),
        () => undefined,
      )
      .finally(leave)
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
    run.ended = drive(run, turn).finally(leave)
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

/** Another process has taken the run over; local readers follow the run there. */
function isSuperseded({ stopCause }: LiveRun, reason: unknown): boolean {
  return stopCause !== 'handed_over' && reason instanceof ServiceError && reason.cause instanceof FenceLost
}

function throwUnlessElsewhere({ elsewhere }: LiveRun, error: unknown): void {
  if (!elsewhere) throw error
}

async function join(run: LiveRun, disconnected: AbortSignal): Promise<OpenRun> {
  const detach = run.attach()
  if (disconnected.aborted) detach()
  else disconnected.addEventListener('abort', detach, { once: true })
  // An async run may start much later: readers are answered at once.
  if (!run.isAsync) await run.started.catch((error: unknown) => throwUnlessElsewhere(run, error))
  const ended = run.ended.then(() => run.elsewhere)
  const { key, sessionId, input, request, log, times } = run
  return { requestId: key.requestId, sessionId, input, hasSchema: Boolean(request.responseSchema), log, ended, times }
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
