import { ServiceError, toErrorBody } from '../errors.ts'
import type { NamedSession, News } from '../replicas/news.ts'
import { callbackJob } from './callbacks/callbacks.ts'
import type { Jobs } from './jobs.ts'
import { processLost } from './outcome.ts'
import type { LiveRun } from './live-run.ts'
import type { EndEvent, RunKey } from './run.ts'
import { FenceLost, type HeldRun, type LineEnd, type NewMessage, type RunStore, type Turn } from './run-store.ts'
import type { Workers } from './workers.ts'

/** Another process that frees a session says so, but news may get lost: a waiting run looks for itself now and then. */
const lookEveryMs = 3000
/** A store that fails is asked again by those who wait as long as it takes. */
const retryMs = 2000

/** Runs of a session go one at a time, in order of arrival. This is where those wait whose turn it is not. */
export interface Line {
  /**
   * Resolves with the run's turn. Rejects with `session_busy` after `waitMs`, with `session_interrupted` when the run before it waits for
   * approval, or when it is stopped; it has left the line then.
   */
  wait(run: LiveRun, messages: () => readonly NewMessage[], waitMs: number): Promise<Turn>
  /** Resolves with the run's turn when there is a worker for it too, however long that takes; the session is held from its turn on. */
  waitForWorker(run: LiveRun, messages: () => readonly NewMessage[]): Promise<Turn>
  /** Tells a run, here or in another process, that the session is its own now. */
  wake(key: RunKey | undefined): void
  /** Tells the runs that wait for the session of one that waits for approval. */
  tellInterrupted(run: LiveRun): void
}

export interface LineDependencies {
  store: Pick<RunStore, 'takeTurn' | 'leaveLine' | 'isNext' | 'nextOf'>
  workers: Workers
  jobs: Pick<Jobs, 'wake'>
  news: News
  /** Of this process. */
  holder: string
  now(): number
  newId(): string
  onFault(run: LiveRun, error: unknown): void
}

export function createLine({ store, workers, jobs, news, holder, now, newId, onFault }: LineDependencies): Line {
  const waiting = new Map<string, { run: LiveRun; bell: Bell }>()
  /** How many wait for another run of their session without looking for themselves. */
  let patient = 0
  let lookout: NodeJS.Timeout | undefined

  news.on('turn', (key) => waiting.get(textOf(key))?.bell.ring())
  news.on('interrupted', ringAll)
  news.onGap(() => waiting.forEach(({ bell }) => bell.ring()))

  function wake(key: RunKey | undefined): void {
    if (!key) return
    const here = waiting.get(textOf(key))
    if (here) here.bell.ring()
    else news.tell('turn', key)
  }

  function tellInterrupted({ key: { tenant, owner }, sessionId }: LiveRun): void {
    ringAll({ tenant, owner, sessionId })
    news.tell('interrupted', { tenant, owner, sessionId })
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
        await bell.wait(Math.min(lookEveryMs, until - now()))
      }
    })
  }

  function waitForWorker(run: LiveRun, messages: () => readonly NewMessage[]): Promise<Turn> {
    return inLine(run, async (bell) => {
      for (;;) {
        const turn = await takeBoth(run, messages).catch((error: unknown) => {
          if (error instanceof FenceLost) throw error
          onFault(run, error)
          return 'failed' as const
        })
        // Stopped or not: what has its turn is not in line any more.
        if (turn && turn !== 'failed') return turn
        refuseStopped(run)
        await (turn === 'failed' ? bell.wait(retryMs) : lookOut(bell))
        refuseStopped(run)
      }
    })
  }

  /** The turn first: who waits for a session must not keep a worker from others. */
  async function takeBoth(run: LiveRun, messages: () => readonly NewMessage[]): Promise<Turn | undefined> {
    if (!(await store.isNext(heldOf(run)))) return undefined
    const taken = await workers.take(`${run.key.tenant}\n${run.key.owner}`, run.signal)
    // One that was interrupted before ends in its session, with what there was.
    const isEnding = run.resumed !== undefined && run.stopCause === 'cancelled'
    if (!taken && !isEnding) return undefined
    const release = taken ?? (() => undefined)
    try {
      const turn = await store.takeTurn(heldOf(run), messages(), now())
      if (turn) run.release = release
      else release()
      return turn
    } catch (error) {
      release()
      throw error
    }
  }

  /** One look for all who wait so, however many they are. */
  async function lookOut(bell: Bell): Promise<void> {
    patient++
    lookout ??= setInterval(() => void ringNext(), lookEveryMs).unref()
    await bell.wait()
    patient--
    if (patient > 0) return
    clearInterval(lookout)
    lookout = undefined
  }

  async function ringNext(): Promise<void> {
    const next = await store.nextOf(holder).catch(() => [])
    for (const key of next) wake(key)
  }

  async function inLine(run: LiveRun, take: (bell: Bell) => Promise<Turn>): Promise<Turn> {
    const bell = new Bell()
    waiting.set(textOf(run.key), { run, bell })
    run.signal.addEventListener('abort', bell.ring)
    try {
      return await take(bell)
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
    const end = endOf(run)
    if (end && run.request.hasCallback) end.jobs.push(callbackJob(run.key, { id: newId(), round: 0, now: now() }))
    wake(await store.leaveLine(heldOf(run), now(), end))
    if (end?.jobs.length) jobs.wake()
  }

  return { wait, waitForWorker, wake, tellInterrupted }
}

function refuseStopped(run: LiveRun): void {
  if (run.stopCause === 'lost') throw processLost()
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

  /** Without a time: until it rings. */
  async wait(ms?: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    if (!this.rung) {
      await new Promise<void>((resolve) => {
        this.resolve = resolve
        if (ms !== undefined) timer = setTimeout(resolve, ms)
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
