import { PgBoss, type Db, type JobInsert, type JobWithMetadata } from 'pg-boss'
import type { Job, JobKind, NewJob } from '../../runs/jobs.ts'
import { type Database, type Scope, query, type Connection, maintainMs, type JobStates, type JobStore, type JobTable } from '../database.ts'
import type { JobRow } from '../tables.ts'
import { bossSchema, deadLetterQueue, heartbeatSeconds, passive } from './pg-boss-schema.ts'

interface BossJobsOptions {
  all: Scope
  db: Database['db']
  /** Runs several statements without parameters. */
  script(text: string): Promise<unknown>
}

/** The data of a job in pg-boss. The id of a job is the `singletonKey` of pg-boss. */
interface BossJobData {
  tenant: string
  data: NewJob['data']
  /** Number of claims before the last requeue. */
  attempts: number
  wantedAt: number
}

type Fetched = JobWithMetadata<BossJobData>

export interface BossJobs extends JobStore {
  close(): Promise<void>
}

/** Intervals of pg-boss: monitoring of expired jobs, and deletion of old jobs. One process at a time does the work. */
const intervals = { monitorIntervalSeconds: 3, maintenanceIntervalSeconds: 600 }

/** `JobStore` by pg-boss, over the connection pool of all queries. */
export async function openBossJobs({ all, db, script }: BossJobsOptions): Promise<BossJobs> {
  const executeSql: Db['executeSql'] = (text, values = []) =>
    (values.length > 0 ? all.write.execute(text, values) : script(text)) as ReturnType<Db['executeSql']>
  const boss = new PgBoss({ db: { executeSql }, schema: bossSchema, migrate: false, ...passive, ...intervals })
  // Ignored: errors of calls reject the calls, and pg-boss does no background work.
  boss.on('error', () => undefined)
  await boss.start()

  async function insert(connection: Connection, jobs: readonly NewJob[]): Promise<void> {
    const at = Date.now()
    await insertJobs(
      connection,
      jobs.map((job) => ({ ...job, attempts: 0, wantedAt: job.dueAt, inMs: job.dueAt - at })),
    )
  }

  async function insertJobs(connection: Connection, jobs: readonly BossJobInsert[]): Promise<void> {
    for (const [kind, jobsOfKind] of Map.groupBy(jobs, (job) => job.kind)) {
      await boss.insert(kind, jobsOfKind.map(toInsert), { db: toDb(connection), returnId: false })
    }
  }

  /** Moves jobs from the table `jobs` into pg-boss: older versions of this program insert there. */
  async function moveTableJobs(): Promise<void> {
    const at = Date.now()
    const { rows } = await all.read.execute('select from jobs limit 1', [])
    if (rows.length === 0) return
    await all.unit(async (connection) => {
      const { rows } = await query(connection, db.deleteFrom('jobs').returningAll())
      await insertJobs(
        connection,
        rows.map((row) => fromRow(row, at)),
      )
    })
  }

  async function findDue(): Promise<DueJobs[]> {
    return (await all.read.execute<DueJobs>(dueSql, [])).rows
  }

  await moveTableJobs()
  let movedAt = performance.now()
  let supervisedAt = -Infinity
  let isBusy = true
  return {
    leaseMs: heartbeatSeconds * 1000,
    insert,
    table: ({ now }) => bossTable({ boss, all, insertJobs, now }),
    async count() {
      const queues = (await boss.getQueues()).map(({ name, queuedCount, activeCount }) => ({
        kind: name,
        count: queuedCount + activeCount,
      }))
      return queues.filter(({ count }) => count > 0).sort((a, b) => (a.kind < b.kind ? -1 : 1))
    },
    async states() {
      const { rows } = await all.read.execute<JobStates>(statesSql, [])
      return rows.map(({ kind, due, scheduled, running, failed }) =>
        kind === deadLetterQueue
          ? { kind, due: 0, scheduled: 0, running: 0, failed: due + scheduled }
          : { kind, due, scheduled, running, failed },
      )
    },
    async maintain() {
      const wasBusy = isBusy
      const states = await findDue()
      isBusy = states.some(({ ms, active }) => isDue(ms) || active)
      // Nothing changes in idle queues, except that old jobs are deleted.
      const isSupervised = isBusy || wasBusy || performance.now() - supervisedAt >= superviseEveryMs
      if (isSupervised) {
        supervisedAt = performance.now()
        await boss.supervise()
      }
      if (performance.now() - movedAt >= moveEveryMs) {
        movedAt = performance.now()
        await moveTableJobs()
      }
      // The supervision may have returned jobs of dead processes to their queues.
      const later = isBusy && isSupervised ? await findDue() : states
      return later.flatMap(({ kind, ms }) => (ms === null ? [] : [kind]))
    },
    close: () => boss.stop({ graceful: false, close: false }),
  }
}

/** A failed job is inserted again with its attempts, due later than it was wanted. */
const isFailed = `start_after > now() and coalesce((data->>'attempts')::int, 0) > 0 and extract(epoch from start_after) * 1000 > (data->>'wantedAt')::float8 + 500`
const statesSql = `select name as kind,
  (count(*) filter (where state <> 'active' and start_after <= now()))::int as due,
  (count(*) filter (where state <> 'active' and start_after > now() and not (${isFailed})))::int as scheduled,
  (count(*) filter (where state = 'active'))::int as running,
  (count(*) filter (where state <> 'active' and ${isFailed}))::int as failed
  from ${bossSchema}.job where state in ('created', 'retry', 'active') group by name order by name`

interface DueJobs {
  kind: JobKind
  /** Milliseconds until the first job is due, at most 0 for a due job; null if it is due after the next maintenance. */
  ms: number | null
  /** True when a process runs, or ran, a job of the kind. */
  active: boolean
}

function isDue(ms: number | null): boolean {
  return ms !== null && ms <= 0
}

/** The time of the first job, up to the maintenance after the next. The search takes the first entry of an index. */
const firstMsSql = (queueName: string) => `(select extract(epoch from start_after - now())::float8 * 1000 from ${bossSchema}.job
  where job.name = ${queueName} and state < 'active' and not blocked and start_after <= now() + interval '${2 * maintainMs} ms'
  order by start_after limit 1)`
const nextSql = `select ${firstMsSql('$1')} as ms`
const dueSql = `select name as kind,
  ${firstMsSql('queue.name')} as ms,
  exists (select from ${bossSchema}.job where job.name = queue.name and state = 'active') as active
  from ${bossSchema}.queue`

/** Delay in milliseconds before the next poll when due jobs were not claimed. */
const raceMs = 100
const moveEveryMs = 60_000
const superviseEveryMs = 60_000

interface BossTableOptions {
  boss: PgBoss
  all: Scope
  insertJobs(connection: Connection, jobs: readonly BossJobInsert[]): Promise<void>
  now(): number
}

function bossTable({ boss, all, insertJobs, now }: BossTableOptions): JobTable {
  /** Ids and retry counts of claimed jobs in pg-boss. */
  const attempts = new WeakMap<Job, Pick<Fetched, 'id' | 'retryCount'>>()

  async function claim(kind: JobKind, limit: number): ReturnType<JobTable['claim']> {
    // The batch size is literal in the SQL, so powers of two keep the number of prepared statements small.
    const batchSize = 2 ** Math.floor(Math.log2(limit))
    const fetched = await boss.fetch<BossJobData>(kind, { batchSize, includeMetadata: true })
    const claimed = fetched.toSorted(byTurn).map((bossJob) => {
      const job = toJob(kind, bossJob)
      attempts.set(job, { id: bossJob.id, retryCount: bossJob.retryCount })
      return { job, wantedAt: bossJob.data.wantedAt }
    })
    return { claimed, nextMs: fetched.length === batchSize ? 0 : undefined }
  }

  /** Deletes a job and runs `next` in one transaction. Does nothing when another worker has claimed the job since. */
  async function replace(job: Job, next: (connection: Connection) => Promise<void>): Promise<void> {
    await all.unit(async (connection) => {
      const deletion = await boss.deleteJob(job.kind, attempts.get(job)!, { db: toDb(connection) })
      if ((deletion as BossResult).affected > 0) await next(connection)
    })
  }

  return {
    claim,
    async nextMs(kind) {
      const { rows } = await all.read.execute<{ ms: number | null }>(nextSql, [kind])
      const ms = rows[0]?.ms ?? undefined
      if (ms === undefined) return undefined
      return isDue(ms) ? raceMs : Math.ceil(ms) + 1
    },
    async renew(jobs) {
      const [first] = jobs
      if (!first) return []
      const claims = jobs.map((job) => attempts.get(job)!)
      const touched = await boss.touch(first.kind, claims)
      const ours = new Set((touched as BossResult).settled)
      // A lost job may have been claimed again by this process: then both claims have the same id.
      const newest = new Map<string, number>()
      for (const { id, retryCount } of claims) newest.set(id, Math.max(retryCount, newest.get(id) ?? 0))
      return jobs.filter((_, n) => !ours.has(claims[n]!.id) || claims[n]!.retryCount < newest.get(claims[n]!.id)!)
    },
    requeue: (job, dueAt, wantedAt) =>
      replace(job, (connection) => insertJobs(connection, [{ ...job, attempts: job.attempt, wantedAt, inMs: dueAt - now() }])),
    async remove(job) {
      await boss.deleteJob(job.kind, attempts.get(job)!)
    },
    giveUp: (job) =>
      replace(job, async (connection) => {
        const { id, kind, tenant, data } = job
        await boss.insert(deadLetterQueue, [{ singletonKey: id, data: { kind, tenant, data } }], { db: toDb(connection) })
      }),
  }
}

interface BossJobInsert extends NewJob {
  attempts: number
  wantedAt: number
  /** Delay in milliseconds; relative, because the database uses its own clock. */
  inMs: number
}

/** Fields of results that the types of pg-boss omit. */
interface BossResult {
  affected: number
  settled?: string[]
}

function toInsert({ id, tenant, data, rank = 0, attempts, wantedAt, inMs }: BossJobInsert): JobInsert<BossJobData> {
  return { singletonKey: id, data: { tenant, data, attempts, wantedAt }, priority: -rank, startAfter: `${inMs / 1000}` }
}

function fromRow({ id, kind, tenant, data, due_at, attempts, wanted_at, rank }: JobRow, at: number): BossJobInsert {
  const job = { id, kind: kind as JobKind, tenant, data: JSON.parse(data) as NewJob['data'], dueAt: due_at, rank }
  return { ...job, attempts, wantedAt: wanted_at, inMs: due_at - at }
}

function toJob(kind: JobKind, { singletonKey, data, priority, retryCount, startAfter }: Fetched): Job {
  const { tenant, data: jobData, attempts } = data
  return {
    id: singletonKey!,
    kind,
    tenant,
    data: jobData,
    dueAt: startAfter.getTime(),
    attempt: attempts + retryCount + 1,
    rank: 0 - priority,
  }
}

function byTurn(a: Fetched, b: Fetched): number {
  return b.priority - a.priority || a.createdOn.getTime() - b.createdOn.getTime() || a.startAfter.getTime() - b.startAfter.getTime()
}

function toDb(connection: Connection): Db {
  return { executeSql: (text, values = []) => connection.execute(text, values) }
}
