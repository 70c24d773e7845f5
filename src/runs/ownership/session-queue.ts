import { ServiceError, toErrorBody } from '../../errors.ts'
import type { NamedSession, Bus } from '../../replicas/bus.ts'
import { callbackJob } from '../callbacks/callbacks.ts'
import type { Jobs } from '../jobs.ts'
import { processLost, serviceStopping } from '../log/outcome.ts'
import type { LiveRun } from './live-run.ts'
import type { ChatRequest, EndEvent } from '../run.ts'
import { runKeyText } from './run-registry.ts'
import {
  FenceLost,
  sessionBusy,
  type HeldRun,
  type QueueEnd,
  type NewMessage,
  type NextRun,
  type RunStore,
  type Turn,
} from '../run-store.ts'
import { reachState } from '../../states.ts'

/** A process that frees a session publishes the next turn, but messages on the bus may get lost: a waiting run asks the store at this interval. */
const pollMs = 3000

/** Runs of a session are executed one at a time, in order of arrival. The other runs wait in the session queue. */
export interface SessionQueue {
  /**
   * Resolves with the run's turn. Rejects, after the run has left the queue: with `session_busy` after `waitMs`, with `session_interrupted`
   * when the run that has the session waits for approval, or when the run is stopped.
   */
  wait(run: LiveRun, messages: () => readonly NewMessage[], waitMs: number): Promise<Turn>
  /** Wakes the run whose turn has come, in the local or another process; for an unclaimed run, the workers of its job. */
  wake(next: NextRun | undefined): void
  /** Wakes the runs that wait for the session of an interrupted run, in all processes. */
  announceInterrupted(run: LiveRun): void
}

export interface SessionQueueDependencies {
  store: Pick<RunStore, 'takeTurn' | 'leaveQueue'>
  jobs: Pick<Jobs, 'wake'>
  bus: Bus
  now(): number
  newId(): string
}

export function createSessionQueue({ store, jobs, bus, now, newId }: SessionQueueDependencies): SessionQueue {
  const waiting = new Map<string, { run: LiveRun; bell: Bell }>()

  bus.subscribe('turn', (key) => waiting.get(runKeyText(key))?.bell.ring())
  bus.subscribe('interrupted', ringAll)
  bus.onGap(() => waiting.forEach(({ bell }) => bell.ring()))

  function wake(next: NextRun | undefined): void {
    if (!next) return
    if (next.holder === '') {
      reachState('queue-next-unclaimed')
      return jobs.wake('run')
    }
    const localRun = waiting.get(runKeyText(next))
    const { tenant, owner, requestId } = next
    if (localRun) localRun.bell.ring()
    else {
      reachState('queue-next-remote')
      bus.publish('turn', { tenant, owner, requestId })
    }
  }

  function tellInterrupted({ key: { tenant, owner }, sessionId }: LiveRun): void {
    ringAll({ tenant, owner, sessionId })
    bus.publish('interrupted', { tenant, owner, sessionId })
  }

  function ringAll({ tenant, owner, sessionId }: NamedSession): void {
    for (const { run, bell } of waiting.values()) {
      if (run.sessionId === sessionId && run.key.tenant === tenant && run.key.owner === owner) bell.ring()
    }
  }

  function wait(run: LiveRun, messages: () => readonly NewMessage[], waitMs: number): Promise<Turn> {
    const until = now() + waitMs
    return inQueue(run, async (bell) => {
      for (;;) {
        const turn = await store.takeTurn(heldOf(run), messages(), now())
        if (turn) {
          reachState('queue-turn-taken')
          return turn
        }
        refuseStopped(run)
        if (now() >= until) {
          reachState('queue-left-busy')
          throw sessionBusy(run.sessionId)
        }
        await bell.wait(Math.min(pollMs, until - now()))
      }
    })
  }

  async function inQueue(run: LiveRun, waitForTurn: (bell: Bell) => Promise<Turn>): Promise<Turn> {
    const bell = new Bell()
    waiting.set(runKeyText(run.key), { run, bell })
    run.signal.addEventListener('abort', bell.ring)
    try {
      return await waitForTurn(bell)
    } catch (error) {
      await leave(run)
      throw error
    } finally {
      waiting.delete(runKeyText(run.key))
      run.signal.removeEventListener('abort', bell.ring)
    }
  }

  /** A cancelled or orphaned run is stored with its end. A run that waited too long is deleted: the same request may come again as a new one. */
  async function leave(run: LiveRun): Promise<void> {
    // Another process resumes the run at its position in the queue.
    if (run.stopCause === 'handed_over' || run.stopCause === 'superseded') return
    const end = endOf(run)
    if (end) reachState('queue-left-stopped')
    if (end && run.request.hasCallback) end.jobs.push(callbackJob(run.key, { id: newId(), round: 0, now: now() }))
    wake(await store.leaveQueue(heldOf(run), now(), end))
    jobs.wake(...(end?.jobs ?? []).map(({ kind }) => kind))
  }

  return { wait, wake, announceInterrupted: tellInterrupted }
}

function refuseStopped(run: LiveRun): void {
  if (run.stopCause === 'orphaned') throw processLost()
  if (run.stopCause === 'superseded') throw new FenceLost(run.key)
  // Another process resumes the run: the caller may repeat the request.
  if (run.stopCause === 'handed_over') throw serviceStopping()
  if (run.signal.aborted) throw new ServiceError('cancelled', 'The run was cancelled before its turn came.')
}

/** A wait that `ring` ends early. A ring before the wait ends the wait at once. */
class Bell {
  private hasRung = false
  private resolve: (() => void) | undefined

  readonly ring = (): void => {
    this.hasRung = true
    this.resolve?.()
  }

  async wait(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    if (!this.hasRung) {
      await new Promise<void>((resolve) => {
        this.resolve = resolve
        timer = setTimeout(resolve, ms)
      })
    }
    clearTimeout(timer)
    this.hasRung = false
  }
}

function endOf({ stopCause, input, request }: LiveRun): QueueEnd | undefined {
  return stopCause === 'cancelled' || stopCause === 'orphaned' ? leavingEnd(stopCause, input, request) : undefined
}

/** The end of a run that leaves the queue without a turn. */
export function leavingEnd(cause: 'cancelled' | 'orphaned', input: string, { echo }: Partial<ChatRequest> = {}): QueueEnd {
  const isOrphaned = cause === 'orphaned'
  const error = isOrphaned ? toErrorBody(processLost()) : undefined
  const end: EndEvent = { type: 'end', reason: isOrphaned ? 'error' : 'cancelled', usage: [], thoughts: [], ...(error && { error }) }
  return {
    status: isOrphaned ? 'error' : 'cancelled',
    continuable: isOrphaned,
    error,
    log: { input, events: [end], ...(echo ? { echo } : {}) },
    jobs: [],
  }
}

function heldOf({ key, fence }: LiveRun): HeldRun {
  return { ...key, fence }
}
