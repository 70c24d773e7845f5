import { ServiceError } from '../errors.ts'
import type { LiveRun } from './live-run.ts'
import type { RunKey } from './run.ts'
import type { NewMessage, RunStore, Turn } from './run-store.ts'

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
  const waiting = new Map<string, () => void>()

  function wake(key: RunKey | undefined): void {
    if (key) waiting.get(textOf(key))?.()
  }

  async function wait(run: LiveRun, messages: () => readonly NewMessage[], waitMs: number): Promise<Turn> {
    const until = now() + waitMs
    try {
      for (;;) {
        const turn = await store.takeTurn(run.key, messages(), now())
        if (turn) return turn
        if (run.signal.aborted) throw new ServiceError('cancelled', 'The run was cancelled before its turn came.')
        if (now() >= until) throw busy(run)
        await woken(run, Math.min(lookEveryMs, until - now()))
      }
    } catch (error) {
      wake(await store.leaveLine(run.key))
      throw error
    } finally {
      waiting.delete(textOf(run.key))
    }
  }

  function woken(run: LiveRun, waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, waitMs)
      function done() {
        clearTimeout(timer)
        run.signal.removeEventListener('abort', done)
        resolve()
      }
      run.signal.addEventListener('abort', done)
      waiting.set(textOf(run.key), done)
    })
  }

  return { wait, wake }
}

function busy(run: LiveRun): ServiceError {
  return new ServiceError('session_busy', `Session ${run.sessionId} is busy with another request.`, { retryAfter: 1 })
}

/** One text for a run, to look it up by. */
export function textOf(key: RunKey): string {
  return `${key.tenant}\n${key.owner}\n${key.requestId}`
}
