import type { Logger } from 'pino'
import type { Job, JobOutcome, Jobs } from '../runs/jobs.ts'
import { run, type Database } from './database.ts'
import { jobInserts } from './job-statements.ts'
import { createJobTable } from './job-table.ts'
import { createJobWorker, type JobWorker } from './job-worker.ts'

interface Options {
  /** Epoch milliseconds. */
  now(): number
  log: Logger
  /** After a process was killed its jobs wait so long. */
  leaseMs?: number
}

/** Jobs that are to be done, by kind; of all processes. */
export async function countJobs({ db, all }: Database): Promise<{ kind: string; count: number }[]> {
  const counts = db
    .selectFrom('jobs')
    .select(({ fn }) => ['kind', fn.countAll<number>().as('count')])
    .groupBy('kind')
    .orderBy('kind')
  return (await run(all.read, counts)).rows
}

/** `Jobs` in the table `jobs`, for any number of processes. */
export function createJobs(database: Database, { now, log, leaseMs = 15_000 }: Options): Jobs {
  const insert = jobInserts(database.db)
  const table = createJobTable(database, { leaseMs, now })
  const workers: JobWorker[] = []
  let isClosed = false

  function wake(): void {
    for (const worker of workers) worker.look()
  }

  return {
    wake,
    async add(jobs) {
      await database.all.unit((connection) => insert(connection, jobs))
      wake()
    },
    handle(kind, concurrency, work) {
      if (isClosed) return
      const untyped = work as (job: Job, signal: AbortSignal) => Promise<JobOutcome>
      const worker = createJobWorker({ kind, concurrency, work: untyped, table, renewMs: leaseMs / 3, now, log })
      workers.push(worker)
      worker.look()
    },
    async drain(ms) {
      isClosed = true
      await Promise.all(workers.map((worker) => worker.drain(ms)))
    },
  }
}
