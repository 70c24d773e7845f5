import { ServiceError, toErrorBody } from '../errors.ts'
import { processLost } from './outcome.ts'
import type { LiveRun } from './live-run.ts'
import type { EndEvent, RunKey } from './run.ts'
import type { HeldRun, LineEnd, NewMessage, RunStore, Turn } from './run-store.ts'

/** Another process may free a session: a waiting run looks for itself now and then. */
const lookEveryMs = 1000

/** Runs of a session go one at a time, in order of arrival. This is where those wait whose turn it is not. */
export interface Line {
  /** Resolves with the run's turn. Rejects with `session_busy` after `waitMs`, or when the run is stopped; it has left the line then. */
  wait(run: LiveRun, messages: () => readonly NewMessage[], waitMs: number): Promise<Turn>
  /** Tells a run of this process that the session is its own now. */
  wake(key: RunKey | undefined): void
}

export function createLine(store: Pick<RunStore, 'takeTurn' | 'leaveLine'>, now: () => number): Line {
  const waiting = new Map<string, Bell>()

  function wake(key: RunKey | undefined): void {
    if (key) waiting.get(textOf(key))?.ring()
  }

  async function wait(run: LiveRun, messages: () => readonly NewMessage[], waitMs: number): Promise<Turn> {
    const until = now() + waitMs
    const bell = new Bell()
    waiting.set(textOf(run.key), bell)
    run.signal.addEventListener('abort', bell.ring)
    try {
      for (;;) {
        const turn = await store.takeTurn(heldOf(run), messages(), now())
        if (turn) return turn
        if (run.signal.aborted) throw new ServiceError('cancelled', 'The run was cancelled before its turn came.')
        if (now() >= until) throw busy(run)
        await bell.wait(Math.min(lookEveryMs, until - now()))
      }
    } catch (error) {
      await leave(run)
      throw error
    } finally {
      waiting.delete(textOf(run.key))
      run.signal.removeEventListener('abort', bell.ring)
    }
  }

  /** What somebody cancelled, or nobody came back for, is kept as a run; who gave up waiting may come again as if for the first time. */
  async function leave(run: LiveRun): Promise<void> {
    // Another process goes on with it, in its place of the line.
    if (run.stopCause === 'given_up') return
    wake(await store.leaveLine(heldOf(run), now(), endOf(run)))
  }

  return { wait, wake }
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

function endOf({ stopCause, input }: LiveRun): LineEnd | undefined {
  if (stopCause !== 'cancelled' && stopCause !== 'lost') return undefined
  const isLost = stopCause === 'lost'
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

/** One text for a run, to look it up by. */
export function textOf(key: RunKey): string {
  return `${key.tenant}\n${key.owner}\n${key.requestId}`
}
