import type { Logger } from 'pino'
import { localBus, type Bus } from '../../replicas/bus.ts'
import type { Job, JobKind, JobOutcome, Jobs } from '../../runs/jobs.ts'
import type { Database } from '../database.ts'
import { maintainMs, type JobStates } from './job-store.ts'
import { createJobWorker, type JobWorker } from './worker.ts'

interface JobsOptions {
  /** Epoch milliseconds. */
  now(): number
  log: Logger
  /** Interval in milliseconds at which a worker renews the leases of its jobs. */
  renewMs?: number
  /** Tells the workers of other processes. */
  bus?: Pick<Bus, 'publish' | 'subscribe' | 'onGap'>
}

export interface JobQueue extends Jobs {
  /** Counts the jobs by kind and state. */
  states(): Promise<JobStates[]>
}

/** `Jobs` in the store of either database. */
export function createJobs(database: Database, { now, log, bus = localBus, renewMs = database.jobs.leaseMs / 3 }: JobsOptions): JobQueue {
  const { jobs: store } = database
  const table = store.table({ now })
  const workers = new Map<JobKind, JobWorker>()
  const maintenance = store.maintain && setInterval(() => void maintain(), maintainMs).unref()
  let isClosed = false
  bus.subscribe('jobs', ({ kinds }) => poll(kinds as JobKind[]))
  bus.onGap(() => poll([...workers.keys()]))

  function poll(kinds: readonly JobKind[]): void {
    for (const kind of kinds) void workers.get(kind)?.poll()
  }

  /** Returns expired jobs of dead processes to the queue and polls, because no process publishes such jobs. */
  async function maintain(): Promise<void> {
    const kinds = await store.maintain?.().catch((err: unknown) => log.warn({ err }, 'jobs'))
    // Workers poll in turn, so that polls do not occupy all connections at once.
    for (const kind of kinds ?? []) await workers.get(kind)?.poll({ isNextSoon: true })
  }

  function wake(...kinds: JobKind[]): void {
    if (kinds.length === 0) return
    poll(kinds)
    bus.publish('jobs', { kinds: [...new Set(kinds)] })
  }

  return {
    wake,
    states: () => store.states({ now: now(), running: new Map([...workers].map(([kind, worker]) => [kind, worker.running()])) }),
    async add(jobs) {
      await database.all.unit((connection) => store.insert(connection, jobs))
      wake(...jobs.map(({ kind }) => kind))
    },
    handle(kind, concurrency, work) {
      if (isClosed) return () => undefined
      const untyped = work as (job: Job, signal: AbortSignal) => Promise<JobOutcome>
      const concurrencyLimit = typeof concurrency === 'number' ? () => concurrency : concurrency
      const onRequeue = () => wake(kind)
      const worker = createJobWorker({
        kind,
        concurrency: concurrencyLimit,
        work: untyped,
        table,
        renewMs,
        onRequeue,
        now,
        log,
        // `maintain` polls for due jobs of all kinds with one query.
        ...(store.maintain && { pollMs: maintainedPollMs }),
      })
      workers.set(kind, worker)
      void worker.poll()
      return worker.stop
    },
    async drain(ms) {
      isClosed = true
      clearInterval(maintenance)
      await Promise.all([...workers.values()].map((worker) => worker.drain(ms)))
    },
  }
}

const maintainedPollMs = 300_000
