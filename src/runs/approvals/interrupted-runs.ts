import { ServiceError } from '../../errors.ts'
import type { Jobs } from '../jobs.ts'
import type { Adoption } from '../ownership/adopt.ts'
import type { Intake } from '../intake/admission.ts'
import type { RunMutex } from '../ownership/run-registry.ts'
import type { RunKey } from '../run.ts'
import type { RunStore, StoredRun, TakeOver } from '../run-store.ts'
import type { DecisionResult } from './approval-store.ts'
import { reachState } from '../../states.ts'

interface InterruptedRunsDependencies {
  store: Pick<RunStore, 'find'>
  adoption: Pick<Adoption, 'toTakeOver' | 'resume' | 'takeOver'>
  mutex: Pick<RunMutex, 'run'>
  intake: Pick<Intake, 'assertOpen' | 'isClosed'>
  jobs: Pick<Jobs, 'wake'>
}

/** Runs that wait for approval. Such a run is in the store only, and any process may resume the run. */
export interface InterruptedRuns {
  /** Calls `write` to store a decision, and resumes the run after the last missing decision. */
  decide(run: StoredRun, write: (takeOver: TakeOver) => Promise<DecisionResult | undefined>): Promise<DecisionResult | undefined>
  /** Cancels the run; false when the run does not wait for approval any more, or its end is not stored: another process has taken the run over, or the store failed. */
  cancel(run: StoredRun): Promise<boolean>
  /** Cancels a run whose decision has timed out. Does nothing when the run was resumed since, which changes the fence. */
  expire(key: RunKey, fence: number): Promise<void>
  /** Cancels a run of a client that may give up without a word, so that another one can wait. False for a run of another client, which still waits. */
  yieldWait(key: RunKey): Promise<boolean>
}

export function createInterruptedRuns({ store, adoption, mutex, intake, jobs }: InterruptedRunsDependencies): InterruptedRuns {
  async function decide(
    run: StoredRun,
    write: (takeOver: TakeOver) => Promise<DecisionResult | undefined>,
  ): Promise<DecisionResult | undefined> {
    intake.assertOpen()
    const { request } = run
    if (!request) return undefined
    const interrupted = { ...run, request }
    return mutex.run(run, async () => {
      const result = await write(adoption.toTakeOver(interrupted))
      if (result?.takenOver) reachState('decision-resumes')
      if (result?.takenOver) adoption.resume(interrupted, result.takenOver)
      if (result?.isReleased) reachState('decision-releases')
      if (result?.isReleased) jobs.wake('run')
      return result
    })
  }

  async function cancel(run: StoredRun): Promise<boolean> {
    intake.assertOpen()
    const ending = await mutex.run(run, () => adoption.takeOver(run, { ending: 'cancelled' }))
    if (ending) reachState('interruption-cancelled')
    await ending?.ended
    // Another process may have taken the run over before the end was stored, or the store may have failed.
    return ending !== undefined && (await store.find(run))?.status === 'cancelled'
  }

  async function expire(key: RunKey, fence: number): Promise<void> {
    const run = await store.find(key).catch(undefinedIfGone)
    if (run?.status === 'interrupted' && run.fence === fence) await cancel(run)
  }

  async function yieldWait(key: RunKey): Promise<boolean> {
    const run = await store.find(key).catch(undefinedIfGone)
    if (run?.status !== 'interrupted') return true
    if (run.request?.hasShortWait !== true) return false
    // A process that stops ends no other run: one wait too many does no harm.
    if (!intake.isClosed) await cancel(run)
    return true
  }

  return { decide, cancel, expire, yieldWait }
}

/** The session of the run was deleted: there is nothing to cancel. */
function undefinedIfGone(error: unknown): undefined {
  if (!(error instanceof ServiceError && error.code === 'gone')) throw error
}
