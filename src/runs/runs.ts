import type { Owner } from '../access/owner.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import type { Bus } from '../replicas/bus.ts'
import { createInterruptedRuns, type InterruptedRuns } from './approvals/interrupted-runs.ts'
import type { RunPorts } from './execution/ports.ts'
import { createAcceptance, type Acceptance, createAsyncRuns, type AsyncRuns } from './ownership/async-runs.ts'
import { createIntake, type Admission, type Load } from './intake/admission.ts'
import { createToNewRun, createOpen, type Open } from './intake/open.ts'
import { createAdoption } from './ownership/adopt.ts'
import { createCancellation, type Cancellation } from './ownership/cancel.ts'
import type { LiveRun } from './ownership/live-run.ts'
import { createLiveRuns } from './ownership/live-runs.ts'
import type { RunKey } from './run.ts'
import type { TraceSource } from './trace/span.ts'
import { createLocate, createReaders, type Readers } from './ownership/locate.ts'
import { createRunMutex, createRunRegistry } from './ownership/run-registry.ts'
import { serveRemoteReaders } from './ownership/remote/remote-readers.ts'
import { createRemoteRuns, type RemoteRuns } from './ownership/remote/remote-runs.ts'
import type { TailStore } from './ownership/remote/tail.ts'
import { createSessionQueue } from './ownership/session-queue.ts'
import { createSteering, type Steering } from './steering/steering.ts'
import { createWhenBusy, type WhenBusy } from './steering/when-busy.ts'

export interface RunsDependencies extends RunPorts {
  agent: CurrentAgent
  /** The reason not to call an address, as a message for the caller; undefined for a permitted address. */
  refusalOf(url: string): Promise<string | undefined>
  admission: Pick<Admission, 'refuseRun' | 'refuseEvent'>
  /** Absent where no other process shares the store. */
  tails?: TailStore | undefined
  bus: Bus
  onEnd(run: LiveRun): void
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** The runs of the local process and, through the store, of all other processes. */
export interface Runs extends Pick<InterruptedRuns, 'decide' | 'expire' | 'yieldWait'>, Acceptance, Cancellation {
  open: Open
  /** Executes an accepted run; called by the run's job. */
  work: AsyncRuns['work']
  follow: Readers['follow']
  /** A copy of the progress of a run that the local process holds. */
  progressOf(key: RunKey): Pick<TraceSource, 'events' | 'records'> | undefined
  observe: RemoteRuns['observe']
  /** Sends a message to a run that goes on. */
  steer: Steering['send']
  /** Acts for a chat that does not want to wait for its session. */
  whenBusy: WhenBusy
  /** Unended runs of the local process. */
  load(): Pick<Load, 'total' | 'countUnended'>
  /** Callers of the local unended runs, once for each run. */
  running(): Owner[]
  /** Numbers of local runs that are executed (`running`) or wait for a session (`pending`). */
  counts(): { pending: number; running: number }
  /** Takes over runs of processes lost for more than `graceMs`. */
  adopt(graceMs: number): Promise<void>
  /** Refuses new work, waits `ms` at most for the runs, and hands over the rest to other processes. */
  drain(ms: number): Promise<void>
}

export function createRuns(dependencies: RunsDependencies): Runs {
  const { agent, refusalOf, admission, tails, onEnd, ...ports } = dependencies
  const { store, holder, attachments, clientTools, clientWaits, schemas, budgets, jobs, bus, now, newId, sleep, onFault } = ports
  const intake = createIntake(now)
  const mutex = createRunMutex()
  const registry = createRunRegistry({ bus, sleep })
  const locate = createLocate({ store, registry, mutex, holder })
  const queue = createSessionQueue({ store, jobs, bus, now, newId })
  const remote = createRemoteRuns({ store, registry, tails, bus, newId, sleep })
  const remoteReaders = tails && serveRemoteReaders({ registry, tails, bus, sleep, onFault })
  const live = createLiveRuns({ ports, registry, queue, remote, bus, onEnd, sleep })
  const adoption = createAdoption({ store, registry, live, mutex, intake, agent, holder, jobs, bus, now, newId, sleep })
  const readers = createReaders({ locate, agent, budgets, registry, live, remote, intake })
  const interrupted = createInterruptedRuns({ store, adoption, mutex, intake, jobs })
  const asyncRuns = createAsyncRuns({ store, adoption, mutex, intake, jobs, agent, now, newId, onFault })
  const toNewRun = createToNewRun({ attachments, budgets, intake, holder, now, newId })
  const steering = createSteering({ store, registry, mutex, bus, now })
  const cancellation = createCancellation({ store, locate, registry, mutex, adoption, asyncRuns, interrupted, bus, now, sleep })

  async function drain(ms: number): Promise<void> {
    intake.close()
    // Readers of interrupted runs wait for seconds between two polls, and are told before the server closes their connections.
    registry.wakeAll()
    adoption.stop()
    const runs = registry.all()
    await Promise.all([live.drain(ms).then(() => remoteReaders?.close()), remote.drain(ms)])
    await asyncRuns.release(runs.filter((run) => run.isAsync && run.stopCause === 'handed_over'))
  }

  return {
    open: createOpen({
      store,
      agent,
      admission,
      intake,
      mutex,
      registry,
      live,
      readers,
      adoption,
      toNewRun,
      clientTools,
      schemas,
      clientWaits,
      budgets,
      holder,
    }),
    ...createAcceptance({
      store,
      jobs,
      agent,
      admission,
      intake,
      mutex,
      toNewRun,
      clientTools,
      clientWaits,
      budgets,
      schemas,
      refusalOf,
    }),
    work: asyncRuns.work,
    follow: readers.follow,
    observe: remote.observe,
    progressOf(key) {
      const run = registry.find(key)
      return run && { events: [...run.log.events], records: run.trace.all() }
    },
    decide: interrupted.decide,
    expire: interrupted.expire,
    yieldWait: interrupted.yieldWait,
    ...cancellation,
    steer: steering.send,
    whenBusy: createWhenBusy({ store, steering, cancel: cancellation.cancel }),
    load: () => ({ total: registry.count(), countUnended: () => registry.unended().length }),
    running: () => registry.unended().map(({ key }) => key),
    counts() {
      const unended = registry.unended()
      const running = unended.filter((run) => run.startedAt !== undefined).length
      return { pending: unended.length - running, running }
    },
    adopt: adoption.adopt,
    drain,
  }
}
