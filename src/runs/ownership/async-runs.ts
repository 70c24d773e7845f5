import type { CurrentAgent } from '../../configuration/agent.ts'
import type { Adoption } from './adopt.ts'
import { callbackJob } from '../callbacks/callbacks.ts'
import type { Job, JobOutcome, Jobs } from '../jobs.ts'
import type { Intake } from '../intake/admission.ts'
import type { LiveRun } from './live-run.ts'
import type { RunMutex } from './registry.ts'
import { leavingEnd } from './session-queue.ts'
import type { RunStore, StoredRun } from '../run-store.ts'
import { reachState } from '../../states.ts'

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

/** Async runs: an accepted run is unclaimed until a job claims the run, in any process. */
export interface AsyncRuns {
  /** Claims the run of a job and resolves when the run has ended or waits for approval. Does nothing where the job is outdated. */
  work(job: Job<'run'>): Promise<JobOutcome>
  /** Cancels an unclaimed run; false where a process has claimed the run meanwhile. */
  cancel(run: StoredRun): Promise<boolean>
  /** Makes handed over runs unclaimed, for other processes to resume. */
  release(runs: readonly LiveRun[]): Promise<void>
}

export function createAsyncRuns(dependencies: AsyncRunsDependencies): AsyncRuns {
  const { store, adoption, jobs, agent, mutex, intake, now, newId, onFault } = dependencies

  async function work({ tenant, data: { owner, requestId, fence, isResumed } }: Job<'run'>): Promise<JobOutcome> {
    // The first jobs run while the service starts: a resumed run needs the tools that the run had.
    await agent().tools.settling()
    if (intake.isClosed) return { kind: 'again', at: now() }
    const key = { tenant, owner, requestId }
    const run = await mutex.run(key, async () => {
      const claimed = await store.claim({ ...key, fence }, adoption.toTakeOver)
      return claimed && adoption.resume(claimed.run, claimed.takenOver, { isResumed: isResumed === true })
    })
    if (!run) reachState('job-outdated')
    await run?.ended
    return { kind: 'done' }
  }

  async function cancel(run: StoredRun): Promise<boolean> {
    // The run has begun before: its messages are kept in the session.
    if (run.messageIndex !== undefined) {
      const ending = await mutex.run(run, () => adoption.takeOver(run, { ending: 'cancelled' }))
      await ending?.ended
      // Another process may have taken the run over before the end was stored, or the store may have failed.
      return ending !== undefined && (await store.find(run))?.status === 'cancelled'
    }
    reachState('cancel-unclaimed')
    const end = leavingEnd('cancelled', inputOf(run), run.request)
    if (run.request?.hasCallback) end.jobs.push(callbackJob(run, { id: newId(), round: 0, now: now() }))
    const next = await store.leaveQueue(run, now(), end)
    jobs.wake('callback', ...(next?.holder === '' ? (['run'] as const) : []))
    return (await store.find(run))?.status === 'cancelled'
  }

  async function release(runs: readonly LiveRun[]): Promise<void> {
    const releases = runs.map((run) =>
      store.release(run.key, { fence: run.fence, status: 'running' }, now()).catch((error: unknown) => onFault(run, error)),
    )
    if (releases.length > 0) reachState('handed-over-released')
    if (releases.length > 0) await Promise.all(releases)
    if (releases.length > 0) jobs.wake('run')
  }

  return { work, cancel, release }
}

function inputOf({ request }: StoredRun): string {
  return request?.messages.at(-1)?.content ?? ''
}
