import type { CurrentAgent } from '../../configuration/agent.ts'
import type { Adoption } from './adopt.ts'
import { callbackJob } from '../callbacks/callbacks.ts'
import type { Job, JobOutcome, Jobs } from '../jobs.ts'
import type { Intake } from './intake.ts'
import type { LiveRun } from './live-run.ts'
import type { RunMutex } from './run-mutex.ts'
import { leavingEnd } from './session-queue.ts'
import type { RunStore, StoredRun } from '../run-store.ts'

interface AsyncRunsDependencies {
  store: Pick<RunStore, 'claim' | 'release' | 'leaveQueue' | 'find'>
  adoption: Pick<Adoption, 'toTakeOver' | 'resume' | 'takeOver'>
  jobs: Pick<Jobs, 'wake'>
  agent: CurrentAgent
  mutex: Pick<RunMutex, 'run'>
  intake: Pick<Intake, 'isClosed'>
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
  /** Lets others go on with what this process gave up. */
  release(runs: readonly LiveRun[]): Promise<void>
}

export function createAsyncRuns(dependencies: AsyncRunsDependencies): AsyncRuns {
  const { store, adoption, jobs, agent, mutex, intake, now, newId, onFault } = dependencies

  async function work({ tenant, data: { owner, requestId, fence, isResumed } }: Job<'run'>): Promise<JobOutcome> {
    // The first come with the start: what goes on must find the tools that it had.
    await agent().tools.settling()
    if (intake.isClosed) return { kind: 'again', at: now() }
    const key = { tenant, owner, requestId }
    const run = await mutex.run(key, async () => {
      const up = await store.claim({ ...key, fence }, adoption.toTakeOver)
      return up && adoption.resume(up.run, up.taken, { isResumed: isResumed === true })
    })
    await run?.ended
    return { kind: 'done' }
  }

  async function cancel(run: StoredRun): Promise<boolean> {
    // What it had done is kept in its session.
    if (run.messageIndex !== undefined) {
      const ending = await mutex.run(run, () => adoption.takeOver(run, { ending: 'cancelled' }))
      await ending?.ended
      return ending !== undefined
    }
    const end = leavingEnd('cancelled', inputOf(run))
    if (run.request?.hasCallback) end.jobs.push(callbackJob(run, { id: newId(), round: 0, now: now() }))
    const next = await store.leaveQueue(run, now(), end)
    jobs.wake('callback', ...(next?.holder === '' ? (['run'] as const) : []))
    return (await store.find(run))?.status === 'cancelled'
  }

  async function handBack(runs: readonly LiveRun[]): Promise<void> {
    const back = runs.map((run) =>
      store.release(run.key, { fence: run.fence, status: 'running' }, now()).catch((error: unknown) => onFault(run, error)),
    )
    if (back.length > 0) await Promise.all(back)
    if (back.length > 0) jobs.wake('run')
  }

  return { work, cancel, release: handBack }
}

function inputOf({ request }: StoredRun): string {
  return request?.messages.at(-1)?.content ?? ''
}
