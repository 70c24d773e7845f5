import { ServiceError } from '../../errors.ts'
import type { Adoption } from '../ownership/adopt.ts'
import type { Jobs } from '../jobs.ts'
import type { LiveRuns, OpenRun } from '../ownership/live-runs.ts'
import { replay } from '../log/replay.ts'
import type { RunKey } from '../run.ts'
import type { RunStore, StoredRun, TakeOver } from '../run-store.ts'
import type { Decided } from './approval-store.ts'

interface StandingRunsDependencies {
  store: Pick<RunStore, 'find'>
  live: Pick<LiveRuns, 'find' | 'join' | 'arrival'>
  adoption: Pick<Adoption, 'asTaker' | 'goOn' | 'takeOver'>
  jobs: Pick<Jobs, 'wake'>
  /** One at a time for each request id. */
  alone<T>(key: RunKey, work: () => Promise<T>): Promise<T>
  follow(key: RunKey, left: AbortSignal): Promise<OpenRun>
  /** Throws when the service takes nothing new. */
  refuseStopping(): void
}

/** Runs that wait for approval: they are in the store alone, and any process may go on with them. */
export interface StandingRuns {
  /** The run so far, for whoever follows it; `goesOn` waits for more. */
  open(run: StoredRun): OpenRun
  /** Has a decision written, and goes on with the run when it was the last that was missing. */
  decide(run: StoredRun, write: (by: TakeOver) => Promise<Decided | undefined>): Promise<Decided | undefined>
  /** Cancels the run; false when it does not wait any more. */
  end(run: StoredRun): Promise<boolean>
  /** Cancels a run that waits since it had this fence. */
  expire(key: RunKey, fence: number): Promise<void>
}

export function createStandingRuns({ store, live, adoption, jobs, alone, follow, refuseStopping }: StandingRunsDependencies): StandingRuns {
  async function whenGoesOn(key: RunKey, fence: number, left: AbortSignal): Promise<OpenRun> {
    for (;;) {
      const running = live.find(key)
      if (running && running.fence > fence) return live.join(running, left)
      const stored = await store.find(key)
      if (stored?.status !== 'interrupted' || stored.fence > fence) return follow(key, left)
      refuseStopping()
      await live.arrival(key, lookAgainMs, left)
      left.throwIfAborted()
    }
  }

  async function decide(run: StoredRun, write: (by: TakeOver) => Promise<Decided | undefined>): Promise<Decided | undefined> {
    refuseStopping()
    const { request } = run
    if (!request) return undefined
    const standing = { ...run, request }
    return alone(run, async () => {
      const decided = await write(adoption.asTaker(standing))
      if (decided?.taken) adoption.goOn(standing, decided.taken)
      if (decided?.isFreed) jobs.wake('run')
      return decided
    })
  }

  async function end(run: StoredRun): Promise<boolean> {
    refuseStopping()
    const ending = await alone(run, () => adoption.takeOver(run, { ending: 'cancelled' }))
    await ending?.ended
    return ending !== undefined
  }

  return {
    open: (run) => ({ ...replay(run), goesOn: (left) => whenGoesOn(run, run.fence, left) }),
    decide,
    end,
    async expire(key, fence) {
      const run = await store.find(key).catch(ignoreGone)
      if (run?.status === 'interrupted' && run.fence === fence) await end(run)
    },
  }
}

/** Its session was deleted: nothing is left to be cancelled. */
function ignoreGone(error: unknown): undefined {
  if (!(error instanceof ServiceError && error.code === 'gone')) throw error
}

/** Who waits for a run is told at once where it goes on, here or elsewhere; news from elsewhere may get lost. */
const lookAgainMs = 2000
