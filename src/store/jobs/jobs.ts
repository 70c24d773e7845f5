import type { Logger } from 'pino'
import { localBus, type Bus } from '../../replicas/bus.ts'
import type { Job, JobKind, JobOutcome, Jobs } from '../../runs/jobs.ts'
import type { Database } from '../database.ts'
import { createJobWorker, type JobWorker } from './worker.ts'

interface Options {
  /** Epoch milliseconds. */
  now(): number
  log: Logger
  /** How often a worker says of its jobs that it still has them. */
  renewMs?: number
  /** Tells the workers of other processes. */
  bus?: Pick<Bus, 'publish' | 'subscribe' | 'onGap'>
}

/** `Jobs` in the store of either database. */
export function createJobs(database: Database, { now, log, bus = localBus, renewMs = database.jobs.leaseMs / 3 }: Options): Jobs {
  const { jobs: store } = database
  const table = store.table({ now })
  const workers = new Map<JobKind, JobWorker>()
  const keeping = store.keepUp && setInterval(() => void keepUp(), keepUpMs).unref()
  let isClosed = false
  bus.subscribe('jobs', ({ kinds }) => look(kinds as JobKind[]))
  bus.onGap(() => look([...workers.keys()]))

  function look(kinds: readonly JobKind[]): void {
    for (const kind of kinds) void workers.get(kind)?.look()
  }

  /** What a dead process had is due again then, and nobody tells of it. */
  async function keepUp(): Promise<void> {
    await store.keepUp?.().catch((err: unknown) => log.warn({ err }, 'jobs'))
    // One after another: not all connections at once.
    for (const worker of workers.values()) await worker.look()
  }

  function wake(...kinds: JobKind[]): void {
    if (kinds.length === 0) return
    look(kinds)
    bus.publish('jobs', { kinds: [...new Set(kinds)] })
  }

  return {
    wake,
    async add(jobs) {
      await database.all.unit((connection) => store.insert(connection, jobs))
      wake(...jobs.map(({ kind }) => kind))
    },
    handle(kind, concurrency, work) {
      if (isClosed) return () => undefined
      const untyped = work as (job: Job, signal: AbortSignal) => Promise<JobOutcome>
      const concurrencyLimit = typeof concurrency === 'number' ? () => concurrency : concurrency
      const onPutBack = () => wake(kind)
      const worker = createJobWorker({ kind, concurrency: concurrencyLimit, work: untyped, table, renewMs, onPutBack, now, log })
      workers.set(kind, worker)
      void worker.look()
      return worker.stop
    },
    async drain(ms) {
      isClosed = true
      clearInterval(keeping)
      await Promise.all([...workers.values()].map((worker) => worker.drain(ms)))
    },
  }
}

const keepUpMs = 3000
