import type { CurrentAgent } from '../../configuration/agent.ts'
import type { Bus } from '../../replicas/bus.ts'
import type { Ending } from '../execution/execute.ts'
import type { Jobs } from '../jobs.ts'
import type { Intake } from './intake.ts'
import { LiveRun } from './live-run.ts'
import type { LiveRuns } from './live-runs.ts'
import type { RunRegistry } from './registry.ts'
import type { RunMutex } from './run-mutex.ts'
import { runKeyText, type ChatRequest, type RunKey } from '../run.ts'
import type { OrphanedRun, RunStore, Seen, StoredRun, TakenOver, TakeOver } from '../run-store.ts'
import { stopSuperseded } from './stop-superseded.ts'
import { createSuspects, isHopeless, isSuspect } from './suspects.ts'
import { toNewMessages } from '../window/transcript.ts'

interface AdoptionDependencies {
  store: RunStore
  registry: Pick<RunRegistry, 'find' | 'all'>
  live: Pick<LiveRuns, 'launch'>
  mutex: Pick<RunMutex, 'isHeld'>
  intake: Pick<Intake, 'nextArrival'>
  agent: CurrentAgent
  /** Id of this process. */
  holder: string
  jobs: Pick<Jobs, 'wake'>
  bus: Pick<Bus, 'publish'>
  now(): number
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Runs whose process has them no more are taken up, or made jobs: those of processes that died, and those of this one that a fault made it forget. */
export interface Adoption {
  /** Takes over one run and launches it; undefined when it changed meanwhile. */
  takeOver(run: OrphanedRun, how?: How): Promise<LiveRun | undefined>
  /** This process, as one that takes over a run with this request. */
  toTakeOver(run: StoredRun & { request: ChatRequest }): TakeOver
  /** Launches a run that the store has just given to this process. */
  resume(run: OrphanedRun & { request: ChatRequest }, taken: TakenOver, how?: How): LiveRun
  /** One sweep, until nothing is left to take of processes that are lost for more than `graceMs`. */
  adopt(graceMs: number): Promise<void>
  /** No sweep begins any more. */
  stop(): void
}

interface How {
  /** As it must still be; default: as it was read. */
  from?: Seen
  /** Its caller may be gone: it ends as lost unless somebody comes for it. */
  mayBeUnwanted?: boolean
  /** It does not go on. */
  ending?: Ending
  /** It goes on behind its interruption. */
  isResumed?: boolean
}

export function createAdoption(dependencies: AdoptionDependencies): Adoption {
  const { store, registry, live, mutex, intake, agent, holder, jobs, bus, now, sleep } = dependencies
  /** Of this process by the store, but not live, at the last sweep: at the next they are taken. */
  let strays = new Set<string>()
  let sweeping: Promise<void> | undefined
  let calledAt = 0
  let isStopped = false
  let lastGraceMs = 0
  const suspects = createSuspects({
    async takeOver(run) {
      if (isHere(run)) return undefined
      return takeOver(run, { from: { ...run, graceMs: lastGraceMs }, mayBeUnwanted: true })
    },
    next: () => adopt(lastGraceMs),
    sleep,
  })

  /** Whether this process has the run, or is about to have the run. */
  function isHere(key: RunKey): boolean {
    return registry.find(key) !== undefined || mutex.isHeld(key)
  }

  function asTaker({ request, requestId }: StoredRun & { request: ChatRequest }): TakeOver {
    return { holder, queueOrder: intake.nextArrival(), now: now(), messages: toNewMessages(request, requestId, now()) }
  }

  async function takeOver(run: OrphanedRun, how: How = {}): Promise<LiveRun | undefined> {
    const { request } = run
    if (!request) return undefined
    const taken = await store.takeOver(run, how.from ?? run, asTaker({ ...run, request }))
    return taken && goOn({ ...run, request }, taken, how)
  }

  function goOn(
    run: OrphanedRun & { request: ChatRequest },
    taken: TakenOver,
    { mayBeUnwanted = false, ending, ...how }: How = {},
  ): LiveRun {
    const { tenant, owner, requestId, status, log, losses } = run
    const isResumed = status === 'interrupted' || how.isResumed === true
    const next = new LiveRun({
      ...run,
      key: { tenant, owner, requestId },
      agent: agent(),
      fence: taken.fence,
      losses: losses?.count ?? 0,
      // A repeat has its time anew.
      ranMs: run.endedAt === undefined ? run.ranMs : 0,
      ...(isResumed ? { resumed: { restoredAt: log?.restoredAt } } : {}),
    })
    // Who asked for a stream or an answer may be gone with the process; it gets the grace to come back, counted from now.
    const isWanted = mayBeUnwanted && run.onDisconnect === 'cancel' ? next.waitForReader() : undefined
    const turn = taken.kind === 'running' ? taken.turn : undefined
    // One that still waits in line need not get its turn to end.
    if (!turn) void isWanted?.then((wanted) => wanted || next.stop('orphaned'))
    if (ending) next.stop(ending)
    return live.launch(next, turn, isWanted ? isWanted.then((wanted) => (wanted ? undefined : 'orphaned')) : Promise.resolve(ending))
  }

  async function sweep(graceMs: number): Promise<void> {
    for (;;) {
      if (isStopped) return
      const { runs, takers } = await store.orphans(holder, graceMs)
      const others = runs.filter((run) => !isSuspect(run))
      const lost = shareOf(others, takers).map((run) => ({ run, from: { ...run, graceMs } }))
      if (lost.length < others.length) callOthers(runs[0]!.holder)
      const found = [...lost, ...(await findStrays()).map((run) => ({ run, from: run }))]
      // The first sweep comes with the start: what goes on must find the tools that it had.
      if (found.length > 0 || runs.length > 0) await agent().tools.settling()
      suspects.tryOne(shuffled(runs.filter(isSuspect)))
      let taken = 0
      for (let at = 0; at < found.length; at += together) {
        if (isStopped) return
        const tried = found.slice(at, at + together).map(async ({ run, from }) => !isHere(run) && (await takeUp(run, from)))
        taken += (await Promise.all(tried)).filter(Boolean).length
      }
      if (taken === 0) return
      if (takers > 1) await sleep(turnMs)
    }
  }

  /** There is something for each of them. They find the same, and call too: not again and again. */
  function callOthers(lost: string): void {
    if (now() - calledAt < callEveryMs) return
    calledAt = now()
    bus.publish('left', { holder: lost })
  }

  async function takeUp(run: OrphanedRun, from: Seen): Promise<unknown> {
    if (isHopeless(run)) return takeOver(run, { from, ending: 'orphaned' })
    if (run.operation !== 'chain_async') return takeOver(run, { from, mayBeUnwanted: true })
    // Many processes work on those.
    const isBack = await store.release(run, from, now())
    if (isBack) jobs.wake('run')
    return isBack
  }

  async function findStrays(): Promise<StoredRun[]> {
    const ours = await store.ownUnended(holder)
    const names = new Set(ours.map(runKeyText))
    await stopSuperseded(
      store,
      registry.all().filter((run) => !names.has(runKeyText(run.key))),
    )
    const forgotten = ours.filter((key) => !isHere(key))
    const again = forgotten.filter((key) => strays.has(runKeyText(key)))
    strays = new Set(forgotten.map(runKeyText))
    const found = await Promise.all(again.map((key) => store.find(key)))
    return found.filter((run): run is StoredRun => run !== undefined && run.endedAt === undefined)
  }

  async function adopt(graceMs: number): Promise<void> {
    if (isStopped) return
    lastGraceMs = graceMs
    sweeping ??= sweep(graceMs).finally(() => (sweeping = undefined))
    return sweeping
  }

  return { takeOver, toTakeOver: asTaker, resume: goOn, adopt, stop: () => void (isStopped = true) }
}

/**
 * What one process takes before it looks again: processes that find the same runs share them, and begin with others each, so that they
 * seldom meet.
 */
function shareOf(runs: readonly OrphanedRun[], takers: number): OrphanedRun[] {
  if (takers === 1) return [...runs]
  return shuffled(runs).slice(0, Math.ceil(runs.length / takers))
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

/** Until others have had their turn. */
const turnMs = 200
const callEveryMs = 1000

/** So many are taken at once: their commits are one where the store groups them. */
const together = 8
