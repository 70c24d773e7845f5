import { ServiceError, toErrorBody } from '../../errors.ts'
import type { Bus } from '../../replicas/bus.ts'
import { endAs, execute, type Ending } from '../execution/execute.ts'
import type { EventLog } from '../log/event-log.ts'
import { EndNotStored } from '../execution/finish.ts'
import type { RunPorts } from '../execution/ports.ts'
import { createLine } from './session-queue.ts'
import type { LiveRun } from './live-run.ts'
import { serviceStopping } from '../log/outcome.ts'
import { runKeyText, type RunKey } from '../run.ts'
import { FenceLost, type NewMessage, type Turn } from '../run-store.ts'
import { stopLost } from './stop-lost.ts'
import { toNewMessages } from '../window/transcript.ts'

export interface LiveRunsDependencies extends RunPorts {
  onEnd(run: LiveRun): void
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Of this process. */
  holder: string
  bus: Bus
}

interface Elsewhere {
  /** Readers of a run that another process has by now get what that one tells; resolves when they have its end. */
  followElsewhere(run: LiveRun): Promise<void>
}

/** A run that somebody follows, live or from the store, until the signal that they gave is aborted. */
export interface OpenRun {
  requestId: string
  sessionId: string
  input: string
  log: EventLog
  /** Resolves when the log has its last event. */
  ended: Promise<void>
  /** Of a run that waits for approval: resolves with the same run when it has gone on, or has ended. */
  goesOn?(left: AbortSignal): Promise<OpenRun>
}

/** The runs that this process has: each is driven from its session's line to its stored end. */
export interface LiveRuns {
  find(key: RunKey): LiveRun | undefined
  all(): LiveRun[]
  count(): number
  /** Registers a run that has its turn, or waits for it when there is none. `ending`: how it ends when its turn comes, in place of going on. */
  launch(run: LiveRun, turn: Turn | undefined, ending?: Promise<Ending | undefined>): LiveRun
  /** Resolves when a run with this key is launched here, or something was heard of it, or after `ms`. */
  arrival(key: RunKey, ms: number, left: AbortSignal): Promise<void>
  /** Resolves when the run has its session. The caller counts as a reader from now on, also while it waits. */
  join(run: LiveRun, left: AbortSignal): Promise<OpenRun>
  /** Waits for what runs, `ms` at most; what runs longer is given up without an end, for another process to go on with. */
  drain(ms: number): Promise<void>
}

export function createLiveRuns(deps: LiveRunsDependencies & Elsewhere): LiveRuns {
  const { store, bus, now } = deps
  const runs = new Map<string, LiveRun>()
  const line = createLine(deps)
  const givenUp = new AbortController()
  /** Those who wait for a run that this process does not have. */
  const expecting = new Map<string, Set<() => void>>()

  const tellAll = (those: Iterable<() => void> = []) => [...those].forEach((tell) => tell())
  bus.subscribe('moved', (key) => {
    tellAll(expecting.get(runKeyText(key)))
    // It may be this process that it does not belong to any more.
    const run = runs.get(runKeyText(key))
    if (run) void stopLost(store, [run])
  })
  bus.subscribe('cancel', (key) => {
    const run = runs.get(runKeyText(key))
    if (!run) return
    run.isWatched = true
    run.stop('cancelled')
  })
  bus.onGap(() => expecting.forEach((those) => tellAll(those)))

  function launch(run: LiveRun, turn: Turn | undefined, ending: Promise<Ending | undefined> = none): LiveRun {
    runs.set(runKeyText(run.key), run)
    tellAll(expecting.get(runKeyText(run.key)))
    if (run.fence > 1) bus.publish('moved', run.key)
    // Accepted in the last moment: it has nobody here any more.
    if (givenUp.signal.aborted) run.stop('given_up')
    const release = run.agent.hold()
    run.started = (turn ? Promise.resolve(turn) : waitForTurn(run)).catch(async (error: unknown) => {
      forget(run)
      const told = await reasonOf(run, error)
      if (isTaken(run, told)) run.elsewhere = deps.followElsewhere(run)
      else tellEnd(run, told)
      throw told
    })
    run.ended = run.started
      .then(
        (turn) => drive(run, turn, ending),
        () => undefined,
      )
      .finally(() => {
        release()
        // One that was begun once, and ended where it was, concerns no other process unless that has asked for it.
        if (run.fence > 1 || run.isWatched) bus.publish('moved', run.key)
      })
    return run
  }

  /** Whoever follows a run that left its line, or that this process gave up, is told so. */
  function tellEnd(run: LiveRun, error: unknown): void {
    if (run.log.ended) return
    const isCancelled = error instanceof ServiceError && error.code === 'cancelled' && run.stopCause !== 'given_up'
    if (isCancelled) return run.log.append({ type: 'end', reason: 'cancelled', usage: [], thoughts: [] })
    const told = run.stopCause === 'given_up' ? serviceStopping() : error
    run.log.append({ type: 'end', reason: 'error', usage: [], thoughts: [], error: toErrorBody(told) })
  }

  function forget(run: LiveRun): void {
    if (runs.get(runKeyText(run.key)) === run) runs.delete(runKeyText(run.key))
  }

  async function arrival(key: RunKey, ms: number, left: AbortSignal): Promise<void> {
    const arrived = new AbortController()
    const tell = () => arrived.abort()
    const others = expecting.get(runKeyText(key)) ?? new Set()
    expecting.set(runKeyText(key), others.add(tell))
    await deps.sleep(ms, AbortSignal.any([left, arrived.signal])).catch(() => undefined)
    others.delete(tell)
    if (others.size === 0) expecting.delete(runKeyText(key))
  }

  function waitForTurn(run: LiveRun): Promise<Turn> {
    const messages = (): NewMessage[] => toNewMessages(run.request, run.key.requestId, now())
    return line.wait(run, messages, run.agent.config.limits.max_session_wait * 1000)
  }

  async function join(run: LiveRun, left: AbortSignal): Promise<OpenRun> {
    const leave = run.attach()
    if (left.aborted) leave()
    else left.addEventListener('abort', leave, { once: true })
    // Nobody knows when an async run starts: who follows it is shown that it is there.
    if (!run.isAsync) await run.started.catch((error: unknown) => unlessElsewhere(run, error))
    const ended = run.ended.then(() => run.elsewhere)
    return { requestId: run.key.requestId, sessionId: run.sessionId, input: run.input, log: run.log, ended }
  }

  async function drive(run: LiveRun, turn: Turn, ending: Promise<Ending | undefined>): Promise<void> {
    run.startedAt = now()
    try {
      const end = endingOf(run, await ending)
      line.wake(await (end ? endAs(end, run, turn, deps) : execute(run, turn, deps)))
      if (run.log.interrupted) line.tellInterrupted(run)
      forget(run)
    } catch (error) {
      await tellFailure(run, error)
    }
    deps.observer?.ended(run)
    deps.onEnd(run)
  }

  /** What the readers of a run are told that was lost or stopped: of one whose session was deleted, that. */
  async function reasonOf(run: LiveRun, error: unknown): Promise<unknown> {
    const known = error instanceof FenceLost ? takenOver(error) : error
    if (run.stopCause === 'given_up' || !(known instanceof ServiceError)) return known
    const found = await store.find(run.key).catch((failure: unknown) => failure)
    return found instanceof ServiceError && found.code === 'gone' ? found : known
  }

  /** The end could not be stored (disk full, database gone): readers are told at once, the store as soon as it can take it. */
  async function tellFailure(run: LiveRun, error: unknown): Promise<void> {
    if (error instanceof EndNotStored) {
      deps.onFault(run, error.cause)
      run.log.append(error.end)
      void storeEnd(run, error).finally(() => forget(run))
      return
    }
    forget(run)
    const isLost = error instanceof FenceLost
    if (isLost && run.stopCause !== 'given_up') return void (run.elsewhere = deps.followElsewhere(run))
    if (!isLost && run.stopCause !== 'given_up') deps.onFault(run, error)
    tellEnd(run, await reasonOf(run, error))
  }

  async function storeEnd(run: LiveRun, { ended }: EndNotStored): Promise<void> {
    for (let delayMs = firstRetryMs; !givenUp.signal.aborted; delayMs = Math.min(delayMs * 2, maxRetryMs)) {
      await deps.sleep(delayMs, givenUp.signal).catch(() => undefined)
      try {
        line.wake(await store.finish(run.key, run.fence, ended))
        return deps.jobs.wake(...ended.jobs.map(({ kind }) => kind))
      } catch (error) {
        if (error instanceof FenceLost) return
      }
    }
  }

  async function drain(ms: number): Promise<void> {
    await within(ms)
    for (const run of runs.values()) run.stop('given_up')
    givenUp.abort()
    await within(lastMs)
  }

  async function within(ms: number): Promise<void> {
    const done = new AbortController()
    const all = Promise.all([...runs.values()].map((run) => run.ended)).finally(() => done.abort())
    await Promise.race([all, deps.sleep(ms, done.signal).catch(() => undefined)])
  }

  return { find: (key) => runs.get(runKeyText(key)), all: () => [...runs.values()], count: () => runs.size, launch, arrival, join, drain }
}

const none = Promise.resolve(undefined)

/** A run that somebody stopped while it waited to be wanted ends as they asked; one that nobody wanted may get its turn all the same. */
function endingOf(run: LiveRun, ending: Ending | undefined): Ending | undefined {
  const isStopped = run.signal.aborted && run.stopCause !== 'lost'
  if (ending === 'lost' && isStopped) return undefined
  return ending ?? (run.resumed && run.stopCause === 'cancelled' ? 'cancelled' : undefined)
}

const firstRetryMs = 250
const maxRetryMs = 10_000
/** What was given up hears it at once; a tool that does not is left behind. */
const lastMs = 2000

/** Another process goes on with it, and its readers here follow it there. */
function isTaken({ stopCause }: LiveRun, told: unknown): boolean {
  return stopCause !== 'given_up' && told instanceof ServiceError && told.cause instanceof FenceLost
}

function unlessElsewhere({ elsewhere }: LiveRun, error: unknown): void {
  if (!elsewhere) throw error
}

function takenOver(cause: unknown): ServiceError {
  return new ServiceError('process_lost', 'Another process has taken over the run.', { cause })
}
