import type { CurrentAgent } from '../configuration/agent.ts'
import type { Adoption } from './adopt.ts'
import { callbackJob } from './callbacks/callbacks.ts'
import { EventLog } from './event-log.ts'
import type { Job, JobOutcome, Jobs } from './jobs.ts'
import { toErrorBody } from '../errors.ts'
import { leavingEnd } from './line.ts'
import type { LiveRun } from './live-run.ts'
import type { LiveRuns, OpenRun } from './live-runs.ts'
import type { LoggedEvent, RunKey } from './run.ts'
import type { RunStore, StoredRun } from './run-store.ts'

interface AsyncRunsDependencies {
  store: Pick<RunStore, 'takeUp' | 'putBack' | 'leaveLine' | 'find'>
  live: Pick<LiveRuns, 'arrival' | 'find'>
  adoption: Pick<Adoption, 'asTaker' | 'goOn' | 'takeOver'>
  jobs: Pick<Jobs, 'wake'>
  agent: CurrentAgent
  /** One at a time for each request id. */
  alone<T>(key: RunKey, work: () => Promise<T>): Promise<T>
  follow(key: RunKey, left: AbortSignal): Promise<OpenRun>
  isStopping(): boolean
  now(): number
  newId(): string
  onFault(run: LiveRun, error: unknown): void
}

/** Async runs: until a job takes one up it is nobody's, and any process may. */
export interface AsyncRuns {
  /** Takes up the run of a job, and resolves when it has ended or waits for approval, or need not go on. */
  work(job: Job<'run'>): Promise<JobOutcome>
  /** Ends a run that nobody has; false when somebody has it by now. */
  cancel(run: StoredRun): Promise<boolean>
  /** A run that nobody has, for whoever follows it: its events as they come. */
  open(run: StoredRun, left: AbortSignal): OpenRun
  /** Lets others go on with what this process gave up. */
  handBack(runs: readonly LiveRun[]): Promise<void>
}

export function createAsyncRuns(deps: AsyncRunsDependencies): AsyncRuns {
  const { store, live, adoption, jobs, agent, alone, follow, isStopping, now, newId, onFault } = deps

  async function work({ tenant, data: { owner, requestId, fence, isResumed } }: Job<'run'>): Promise<JobOutcome> {
    // The first come with the start: what goes on must find the tools that it had.
    await agent().tools.settling()
    if (isStopping()) return { kind: 'again', at: now() }
    const key = { tenant, owner, requestId }
    const run = await alone(key, async () => {
      const up = await store.takeUp({ ...key, fence }, adoption.asTaker)
      return up && adoption.goOn(up.run, up.taken, { isResumed: isResumed === true })
    })
    await run?.ended
    return { kind: 'done' }
  }

  async function cancel(run: StoredRun): Promise<boolean> {
    // What it had done is kept in its session.
    if (run.messageIndex !== undefined) {
      const ending = await alone(run, () => adoption.takeOver(run, { ending: 'cancelled' }))
      await ending?.ended
      return ending !== undefined
    }
    const end = leavingEnd('cancelled', inputOf(run))
    if (run.request?.hasCallback) end.jobs.push(callbackJob(run, { id: newId(), round: 0, now: now() }))
    const next = await store.leaveLine(run, now(), end)
    jobs.wake('callback', ...(next?.holder === '' ? (['run'] as const) : []))
    return (await store.find(run))?.status === 'cancelled'
  }

  function open(run: StoredRun, left: AbortSignal): OpenRun {
    const { requestId, sessionId } = run
    const log = new EventLog()
    return { requestId, sessionId, input: inputOf(run), log, ended: relay(run, log, left) }
  }

  /** Tells the events of a run that does not go on yet to a log of its own. */
  async function relay(key: StoredRun, log: EventLog, left: AbortSignal): Promise<void> {
    try {
      while (!left.aborted && (await isWaiting(key))) await live.arrival(key, lookAgainMs, left)
      if (left.aborted) return
      const run = await follow(key, left)
      // What a run goes on behind is no end of it; here it would look like one as long as it is the last.
      let passed: LoggedEvent[] = []
      for await (const { events } of run.log.follow(0, left)) {
        log.restoredAt = run.log.restoredAt
        const isPassed = events.at(-1)?.type === 'interrupt' && !run.log.interrupted
        for (const event of [...passed, ...(isPassed ? events.slice(0, -1) : events)]) log.append(event)
        passed = isPassed ? events.slice(-1) : []
        await log.hasRoom(left)
      }
      await run.ended
    } catch (error) {
      if (!left.aborted) log.append({ type: 'end', reason: 'error', usage: [], thoughts: [], error: toErrorBody(error) })
    }
  }

  async function isWaiting(key: RunKey): Promise<boolean> {
    if (live.find(key)) return false
    const run = await store.find(key)
    return run !== undefined && isNobodys(run)
  }

  async function handBack(runs: readonly LiveRun[]): Promise<void> {
    const back = runs.map((run) =>
      store.putBack(run.key, { fence: run.fence, status: 'running' }, now()).catch((error: unknown) => onFault(run, error)),
    )
    if (back.length > 0) await Promise.all(back)
    if (back.length > 0) jobs.wake('run')
  }

  return { work, cancel, open, handBack }
}

/** Whether it waits for somebody to work on it, or for its session before that. */
export function isNobodys({ status, holder }: StoredRun): boolean {
  return status === 'pending' && holder === ''
}

function inputOf({ request }: StoredRun): string {
  return request?.messages.at(-1)?.content ?? ''
}

/** Who waits is told at once where it starts here; another process may take it up too. */
const lookAgainMs = 500
