import { PhaseTimes } from '../../concurrency/phase-times.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import type { Bus } from '../../replicas/bus.ts'
import type { Ending } from '../execution/execute.ts'
import type { Jobs } from '../jobs.ts'
import type { Intake } from '../intake/admission.ts'
import { LiveRun } from './live-run.ts'
import type { LiveRuns } from './live-runs.ts'
import type { RunMutex, RunRegistry } from './locate.ts'
import { runKeyText, type ChatRequest, type RunKey } from '../run.ts'
import type { OrphanedRun, RunStore, RunVersion, StoredRun, TakenOver, TakeOver } from '../run-store.ts'
import { stopSuperseded } from './stop-superseded.ts'
import { createSuspects, isHopeless, isSuspect } from './suspects.ts'
import type { HeldRecord } from '../trace/recorder.ts'
import { toNewMessages } from '../window/transcript.ts'
import { reachState } from '../../states.ts'

interface AdoptionDependencies {
  store: RunStore
  registry: Pick<RunRegistry, 'find' | 'all'>
  live: Pick<LiveRuns, 'launch'>
  mutex: Pick<RunMutex, 'isHeld'>
  intake: Pick<Intake, 'nextArrival'>
  agent: CurrentAgent
  /** Id of the local process. */
  holder: string
  jobs: Pick<Jobs, 'wake'>
  bus: Pick<Bus, 'publish'>
  now(): number
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Takes over runs of processes that died, and runs that an internal error dropped from the memory of the local process. Async runs go back to the queue. */
export interface Adoption {
  /** Takes over one run and launches the run; undefined where the stored run has changed. */
  takeOver(run: OrphanedRun, options?: TakeOverOptions): Promise<LiveRun | undefined>
  /** Values that the store writes when the local process takes over a run. */
  toTakeOver(run: StoredRun & { request: ChatRequest }): TakeOver
  /** Launches a run that the store has just given to the local process. */
  resume(run: OrphanedRun & { request: ChatRequest }, taken: TakenOver, options?: TakeOverOptions): LiveRun
  /** One sweep: takes over runs until no process that has been lost for more than `graceMs` has any. */
  adopt(graceMs: number): Promise<void>
  /** Ends the sweeps. */
  stop(): void
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

export function createAdoption(dependencies: AdoptionDependencies): Adoption {
  const { store, registry, live, mutex, intake, agent, holder, jobs, bus, now, sleep } = dependencies
  /** Runs that the local process held in the store, but not in memory, at the last sweep. The next sweep takes them over. */
  let droppedRuns = new Set<string>()
  let sweeping: Promise<void> | undefined
  let announcedAt = 0
  let isStopped = false
  let lastGraceMs = 0
  const suspects = createSuspects({
    async takeOver(run) {
      if (isHere(run)) return undefined
      return takeOver(run, { from: { ...run, graceMs: lastGraceMs }, needsReader: true })
    },
    next: () => adopt(lastGraceMs),
    sleep,
  })

  /** True where the local process has the run or is claiming the run. */
  function isHere(key: RunKey): boolean {
    return registry.find(key) !== undefined || mutex.isHeld(key)
  }

  function toTakeOver({ request, requestId }: StoredRun & { request: ChatRequest }): TakeOver {
    return { holder, queueOrder: intake.nextArrival(), now: now(), messages: toNewMessages(request, requestId, now()) }
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

  async function sweep(graceMs: number): Promise<void> {
    for (;;) {
      if (isStopped) return
      const { runs, takers } = await store.orphans(holder, graceMs)
      const orphans = runs.filter((run) => !isSuspect(run))
      const share = shareOf(orphans, takers).map((run) => ({ run, from: { ...run, graceMs } }))
      if (share.length < orphans.length) {
        reachState('orphans-shared')
        announce(runs[0]!.holder)
      }
      const candidates = [...share, ...(await findDropped()).map((run) => ({ run, from: run }))]
      // The first sweep runs while the service starts: a resumed run needs the tools that the run had.
      if (candidates.length > 0 || runs.length > 0) await agent().tools.settling()
      suspects.tryOne(shuffled(runs.filter(isSuspect)))
      let takenCount = 0
      for (let start = 0; start < candidates.length; start += batchSize) {
        if (isStopped) return
        const batch = candidates.slice(start, start + batchSize)
        const attempts = batch.map(async ({ run, from }) => !isHere(run) && (await adoptOne(run, from)))
        takenCount += (await Promise.all(attempts)).filter(Boolean).length
      }
      if (takenCount === 0) return
      if (takers > 1) await sleep(restMs)
    }
  }

  /** Calls other processes to the takeover. Every sweeping process publishes, so the messages are limited by an interval. */
  function announce(lostHolder: string): void {
    if (now() - announcedAt < announceIntervalMs) return
    announcedAt = now()
    bus.publish('left', { holder: lostHolder })
  }

  async function adoptOne(run: OrphanedRun, from: RunVersion): Promise<unknown> {
    if (isHopeless(run)) {
      reachState('run-hopeless')
      return takeOver(run, { from, ending: 'orphaned' })
    }
    if (run.operation !== 'chain_async') return takeOver(run, { from, needsReader: true })
    // Every process executes async runs, as its jobs.
    const isReleased = await store.release(run, from, now())
    if (isReleased) reachState('orphan-released')
    if (isReleased) jobs.wake('run')
    return isReleased
  }

  async function findDropped(): Promise<StoredRun[]> {
    const heldRuns = await store.ownUnended(holder)
    const names = new Set(heldRuns.map(runKeyText))
    await stopSuperseded(
      store,
      registry.all().filter((run) => !names.has(runKeyText(run.key))),
    )
    const missing = heldRuns.filter((key) => !isHere(key))
    const missingTwice = missing.filter((key) => droppedRuns.has(runKeyText(key)))
    droppedRuns = new Set(missing.map(runKeyText))
    if (missingTwice.length > 0) reachState('run-dropped')
    const runs = await Promise.all(missingTwice.map((key) => store.find(key)))
    return runs.filter((run): run is StoredRun => run !== undefined && run.endedAt === undefined)
  }

  async function adopt(graceMs: number): Promise<void> {
    if (isStopped) return
    lastGraceMs = graceMs
    sweeping ??= sweep(graceMs).finally(() => (sweeping = undefined))
    return sweeping
  }

  return { takeOver, toTakeOver, resume, adopt, stop: () => void (isStopped = true) }
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

/** The runs that one process takes over before the next look. Processes that read the same list take random shares, so conflicts are rare. */
function shareOf(runs: readonly OrphanedRun[], takers: number): OrphanedRun[] {
  if (takers === 1) return [...runs]
  return shuffled(runs).slice(0, Math.ceil(runs.length / takers))
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, order: Math.random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item)
}

/** Pause between two looks, for the other processes to take their share. */
const restMs = 200
const announceIntervalMs = 1000

/** Number of runs taken over at once. SQLite groups their transactions into one commit. */
const batchSize = 8
