import { ServiceError, toErrorBody } from '../../errors.ts'
import type { NamedSession, Bus } from '../../replicas/bus.ts'
import { callbackJob } from '../callbacks/callbacks.ts'
import type { Jobs } from '../jobs.ts'
import { processLost, serviceStopping } from '../log/outcome.ts'
import type { LiveRun } from './live-run.ts'
import { runKeyText, type EndEvent } from '../run.ts'
import { FenceLost, type HeldRun, type QueueEnd, type NewMessage, type NextRun, type RunStore, type Turn } from '../run-store.ts'

/** Another process that frees a session says so, but news may get lost: a waiting run looks for itself now and then. */
const pollMs = 3000

/** Runs of a session go one at a time, in order of arrival. This is where those wait whose turn it is not. */
export interface SessionQueue {
  /**
   * Resolves with the run's turn. Rejects with `session_busy` after `waitMs`, with `session_interrupted` when the run before it waits for
   * approval, or when it is stopped; it has left the line then.
   */
  wait(run: LiveRun, messages: () => readonly NewMessage[], waitMs: number): Promise<Turn>
  /** Tells the run whose turn it is now, here or in another process, or who works on those that nobody has. */
  wake(next: NextRun | undefined): void
  /** Tells the runs that wait for the session of one that waits for approval. */
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
    if (next.holder === '') return jobs.wake('run')
    const here = waiting.get(runKeyText(next))
    const { tenant, owner, requestId } = next
    if (here) here.bell.ring()
    else bus.publish('turn', { tenant, owner, requestId })
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
    return inLine(run, async (bell) => {
      for (;;) {
        const turn = await store.takeTurn(heldOf(run), messages(), now())
        if (turn) return turn
        refuseStopped(run)
        if (now() >= until) throw busy(run)
        await bell.wait(Math.min(pollMs, until - now()))
      }
    })
  }

  async function inLine(run: LiveRun, take: (bell: Bell) => Promise<Turn>): Promise<Turn> {
    const bell = new Bell()
    waiting.set(runKeyText(run.key), { run, bell })
    run.signal.addEventListener('abort', bell.ring)
    try {
      return await take(bell)
    } catch (error) {
      await leave(run)
      throw error
    } finally {
      waiting.delete(runKeyText(run.key))
      run.signal.removeEventListener('abort', bell.ring)
    }
  }

  /** What somebody cancelled, or nobody came back for, is kept as a run; who gave up waiting may come again as if for the first time. */
  async function leave(run: LiveRun): Promise<void> {
    // Another process goes on with it, in its place of the line.
    if (run.stopCause === 'handed_over' || run.stopCause === 'superseded') return
    const end = endOf(run)
    if (end && run.request.hasCallback) end.jobs.push(callbackJob(run.key, { id: newId(), round: 0, now: now() }))
    wake(await store.leaveQueue(heldOf(run), now(), end))
    jobs.wake(...(end?.jobs ?? []).map(({ kind }) => kind))
  }

  return { wait, wake, announceInterrupted: tellInterrupted }
}

function refuseStopped(run: LiveRun): void {
  if (run.stopCause === 'orphaned') throw processLost()
  if (run.stopCause === 'superseded') throw new FenceLost(run.key)
  // Another process goes on with the run: the caller may ask again for it.
  if (run.stopCause === 'handed_over') throw serviceStopping()
  if (run.signal.aborted) throw new ServiceError('cancelled', 'The run was cancelled before its turn came.')
}

/** A wait that can be ended early; a ring before the wait counts. */
class Bell {
  private rung = false
  private resolve: (() => void) | undefined

  readonly ring = (): void => {
    this.rung = true
    this.resolve?.()
  }

  async wait(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    if (!this.rung) {
      await new Promise<void>((resolve) => {
        this.resolve = resolve
        timer = setTimeout(resolve, ms)
      })
    }
    clearTimeout(timer)
    this.rung = false
  }
}

function endOf({ stopCause, input }: LiveRun): QueueEnd | undefined {
  return stopCause === 'cancelled' || stopCause === 'orphaned' ? leavingEnd(stopCause, input) : undefined
}

/** How a run ends that never began. */
export function leavingEnd(cause: 'cancelled' | 'orphaned', input: string): QueueEnd {
  const isLost = cause === 'orphaned'
  const error = isLost ? toErrorBody(processLost()) : undefined
  const end: EndEvent = { type: 'end', reason: isLost ? 'error' : 'cancelled', usage: [], thoughts: [], ...(error && { error }) }
  return { status: isLost ? 'error' : 'cancelled', continuable: isLost, error, log: { input, events: [end] }, jobs: [] }
}

function heldOf({ key, fence }: LiveRun): HeldRun {
  return { ...key, fence }
}

function busy(run: LiveRun): ServiceError {
  return new ServiceError('session_busy', `Session ${run.sessionId} is busy with another request.`, { retryAfter: 1 })
}
