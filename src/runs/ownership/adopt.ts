import type { Bus } from '../../replicas/bus.ts'
import type { Jobs } from '../jobs.ts'
import { stopSuperseded, type LiveRun } from './live-run.ts'
import { createTakingOver, type TakingOver, type TakingOverDependencies } from './take-over.ts'
import type { RunMutex, RunRegistry } from './run-registry.ts'
import { isAsyncRun, type RunKey } from '../run.ts'
import { runKeyText } from './run-registry.ts'
import type { OrphanedRun, RunStore, RunVersion, StoredRun } from '../run-store.ts'
import { reachState } from '../../states.ts'
import { maxLosses } from '../log/outcome.ts'

interface AdoptionDependencies extends TakingOverDependencies {
  store: RunStore
  registry: Pick<RunRegistry, 'find' | 'all'>
  mutex: Pick<RunMutex, 'isHeld'>
  jobs: Pick<Jobs, 'wake'>
  bus: Pick<Bus, 'publish'>
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Takes over runs of processes that died, and runs that an internal error dropped from the memory of the local process. Async runs go back to the queue. */
export interface Adoption extends TakingOver {
  /** One sweep: takes over runs until no process that has been lost for more than `graceMs` has any. */
  adopt(graceMs: number): Promise<void>
  /** Ends the sweeps. */
  stop(): void
}

export function createAdoption(dependencies: AdoptionDependencies): Adoption {
  const { store, registry, mutex, agent, holder, jobs, bus, now, sleep } = dependencies
  const takingOver = createTakingOver(dependencies)
  const { takeOver } = takingOver
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
        const attempts = batch.map(async ({ run, from }) => !isHere(run) && (await adoptOne(run, from, { store, jobs, now, takeOver })))
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

  return { ...takingOver, adopt, stop: () => void (isStopped = true) }
}

async function adoptOne(
  run: OrphanedRun,
  from: RunVersion,
  { store, jobs, now, takeOver }: Pick<AdoptionDependencies, 'store' | 'jobs' | 'now'> & Pick<TakingOver, 'takeOver'>,
): Promise<unknown> {
  if (isHopeless(run)) {
    reachState('run-hopeless')
    return takeOver(run, { from, ending: 'orphaned' })
  }
  if (!isAsyncRun(run)) return takeOver(run, { from, needsReader: true })
  // Every process executes async runs, as its jobs.
  const isReleased = await store.release(run, from, now())
  if (isReleased) reachState('orphan-released')
  if (isReleased) jobs.wake('run')
  return isReleased
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

/** Longest time in which a suspect runs alone without a checkpoint before the next suspect is taken: the default execution time of a run. */
const aloneMs = 300_000

/**
 * Pause before the next look where no suspect could be taken: an outdated job may be claiming each of them. Without the pause the search would
 * never end and would block the event loop where the store answers at once, as SQLite does.
 */
const lookAgainMs = 1000

interface SuspectDependencies {
  takeOver(run: OrphanedRun): Promise<LiveRun | undefined>
  /** Looks for the next suspect. */
  next(): Promise<void>
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/**
 * A suspect is a run that ends for good with the next loss of its process. A suspect may be the cause of the deaths. Suspects run one at a
 * time: the next suspect is taken when the current suspect has ended or stored a checkpoint, so that a deadly run does not take others along.
 */
export function createSuspects({ takeOver, next, sleep }: SuspectDependencies) {
  let isTrying = false

  async function takeFirst(suspects: readonly OrphanedRun[]): Promise<LiveRun | undefined> {
    for (const suspect of suspects) {
      const run = await takeOver(suspect)
      if (run) return run
    }
    return undefined
  }

  async function runAlone(suspects: readonly OrphanedRun[]): Promise<void> {
    const done = new AbortController()
    try {
      const run = await takeFirst(suspects)
      await (run ? Promise.race([run.ended, run.progressed, sleep(aloneMs, done.signal)]) : sleep(lookAgainMs))
    } finally {
      done.abort()
      isTrying = false
    }
    await next()
  }

  return {
    /** Starts to take one of the suspects, unless another suspect is being tried. */
    tryOne(suspects: readonly OrphanedRun[]): void {
      if (isTrying || suspects.length === 0) return
      isTrying = true
      reachState('suspect-tried')
      // The same failure ends the next sweep, which reports the failure.
      void runAlone(suspects).catch(() => undefined)
    },
  }
}

export function isSuspect(run: OrphanedRun): boolean {
  return run.losses?.count === maxLosses - 1
}

export function isHopeless(run: OrphanedRun): boolean {
  return (run.losses?.count ?? 0) >= maxLosses
}
