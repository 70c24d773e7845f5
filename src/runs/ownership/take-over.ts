import { PhaseTimes } from '../../concurrency/phase-times.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { isAudited, toLapsed } from '../execution/acts.ts'
import type { Ending } from '../execution/execute.ts'
import type { Intake } from '../intake/admission.ts'
import type { ChatRequest } from '../run.ts'
import type { OrphanedRun, RunStore, RunVersion, StoredRun, TakenOver, TakeOver } from '../run-store.ts'
import type { HeldRecord } from '../trace/records.ts'
import { toNewMessages } from '../window/window.ts'
import { LiveRun } from './live-run.ts'
import type { LiveRuns } from './live-runs.ts'
import { reachState } from '../../states.ts'

export interface TakingOverDependencies {
  store: Pick<RunStore, 'takeOver'>
  live: Pick<LiveRuns, 'launch'>
  intake: Pick<Intake, 'nextArrival'>
  agent: CurrentAgent
  /** Id of the local process. */
  holder: string
  now(): number
  newId(): string
}

/** Gives stored runs to the local process, which resumes them. */
export interface TakingOver {
  /** Takes over one run and launches the run; undefined where the stored run has changed. */
  takeOver(run: OrphanedRun, options?: TakeOverOptions): Promise<LiveRun | undefined>
  /** Values that the store writes when the local process takes over a run. */
  toTakeOver(run: StoredRun & { request: ChatRequest }): TakeOver
  /** Launches a run that the store has just given to the local process. */
  resume(run: OrphanedRun & { request: ChatRequest }, taken: TakenOver, options?: TakeOverOptions): LiveRun
}

interface TakeOverOptions {
  /** The state that the stored run must still have. Default: the state in which the run was read. */
  from?: RunVersion
  /** The client may have disconnected: the run ends as orphaned unless a reader comes within the grace. */
  needsReader?: boolean
  /** How the run ends, where the run is not to be resumed. */
  ending?: Ending
  /** The run continues after an interruption. */
  isResumed?: boolean
}

export function createTakingOver({ store, live, intake, agent, holder, now, newId }: TakingOverDependencies): TakingOver {
  function toTakeOver(key: StoredRun & { request: ChatRequest }): TakeOver {
    const { request, requestId, status } = key
    const current = agent()
    const settles = current.config.budgets !== undefined
    const messages = toNewMessages(request, requestId, now())
    const mayLapse = status === 'interrupted' && isAudited(current)
    const lapsed: TakeOver['toLapsed'] = (calls) => calls.map((call) => toLapsed({ key, agent: current, now, newId }, call))
    return {
      holder,
      queueOrder: intake.nextArrival(),
      now: now(),
      messages,
      ...(settles && { settles }),
      ...(mayLapse && { toLapsed: lapsed }),
    }
  }

  async function takeOver(run: OrphanedRun, options: TakeOverOptions = {}): Promise<LiveRun | undefined> {
    const { request } = run
    if (!request) return undefined
    const taken = await store.takeOver(run, options.from ?? run, toTakeOver({ ...run, request }))
    if (!taken) reachState('orphan-taken-elsewhere')
    return taken && resume({ ...run, request }, taken, options)
  }

  function resume(
    run: OrphanedRun & { request: ChatRequest },
    taken: TakenOver,
    { needsReader = false, ending, ...options }: TakeOverOptions = {},
  ): LiveRun {
    const { tenant, owner, requestId, status, losses } = run
    const isResumed = status === 'interrupted' || options.isResumed === true
    const moved = toMove(run, isResumed)
    const liveRun = new LiveRun({
      ...run,
      key: { tenant, owner, requestId },
      agent: agent(),
      fence: taken.fence,
      losses: losses?.count ?? 0,
      // A repeat gets the full execution time.
      ranMs: run.endedAt === undefined ? run.ranMs : 0,
      isResumed,
      earlier: { restoredAt: run.log?.restoredAt, hasUnstored: !isResumed && hasBegun(run) },
      moved,
      // A message may have been sent since the stored run was read, unless this process claims the run of a job.
      hasMessages: (run.openMessages ?? 0) > 0 || moved.cause !== undefined,
      // An accepted run has waited for a worker since its request.
      ...(moved.cause ? {} : { times: new PhaseTimes({ queuedMs: Math.max(0, now() - run.createdAt) }) }),
    })
    if (needsReader) reachState('orphan-adopted')
    // The client may have lost its connection with the process. The reconnect grace starts now.
    const hasReader = needsReader && run.onDisconnect === 'cancel' ? liveRun.waitForReader() : undefined
    void hasReader?.then((isRead) => isRead && reachState('orphan-read-again'))
    const turn = taken.kind === 'running' ? taken.turn : undefined
    // A run in the session queue is stopped before its turn.
    if (!turn) void hasReader?.then((isRead) => isRead || liveRun.stop('orphaned'))
    if (ending) liveRun.stop(ending)
    const endingAtTurn = hasReader ? hasReader.then((isRead) => (isRead ? undefined : 'orphaned')) : Promise.resolve(ending)
    return live.launch(liveRun, turn, endingAtTurn)
  }

  return { takeOver, toTakeOver, resume }
}

/** False for a run that no process has executed yet, so that its readers know no events. */
function hasBegun({ fence, status, endedAt }: OrphanedRun): boolean {
  return fence > 1 || status !== 'pending' || endedAt !== undefined
}

/** Where a run comes from. An accepted run that no process has executed yet comes from nowhere. */
function toMove({ holder, fence, endedAt, losses }: OrphanedRun, isResumed: boolean): Pick<HeldRecord, 'from' | 'cause'> {
  const isFirst = holder === '' && fence === 1
  const cause = isResumed ? 'approval' : endedAt !== undefined ? 'repeat' : losses?.count ? 'lost' : 'handed_over'
  return isFirst ? {} : { ...(holder === '' ? {} : { from: holder }), cause }
}
