import type { Logger } from 'pino'
import { noNews, type News } from '../replicas/news.ts'
import type { Job, JobKind, JobOutcome, Jobs } from '../runs/jobs.ts'
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
  /** Tells the workers of other processes. */
  news?: Pick<News, 'tell' | 'on' | 'onGap'>
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
export function createJobs(database: Database, { now, log, leaseMs = 15_000, news = noNews }: Options): Jobs {
  const insert = jobInserts(database.db)
  const table = createJobTable(database, { leaseMs, now })
  const workers = new Map<JobKind, JobWorker>()
  let isClosed = false
  news.on('jobs', ({ kinds }) => look(kinds as JobKind[]))
  news.onGap(() => look([...workers.keys()]))

  function look(kinds: readonly JobKind[]): void {
    for (const kind of kinds) workers.get(kind)?.look()
  }

  function wake(...kinds: JobKind[]): void {
    if (kinds.length === 0) return
    look(kinds)
    news.tell('jobs', { kinds: [...new Set(kinds)] })
  }

  return {
    wake,
    async add(jobs) {
      await database.all.unit((connection) => insert(connection, jobs))
      wake(...jobs.map(({ kind }) => kind))
    },
    handle(kind, concurrency, work) {
      if (isClosed) return () => undefined
      const untyped = work as (job: Job, signal: AbortSignal) => Promise<JobOutcome>
      const most = typeof concurrency === 'number' ? () => concurrency : concurrency
      const onPutBack = () => wake(kind)
      const worker = createJobWorker({ kind, concurrency: most, work: untyped, table, renewMs: leaseMs / 3, onPutBack, now, log })
      workers.set(kind, worker)
      worker.look()
      return worker.stop
    },
    async drain(ms) {
      isClosed = true
      await Promise.all([...workers.values()].map((worker) => worker.drain(ms)))
    },
  }
}
