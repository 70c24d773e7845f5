import { PgBoss, type Db, type JobInsert, type JobWithMetadata } from 'pg-boss'
import type { Job, JobKind, NewJob } from '../../runs/jobs.ts'
import type { Database, Scope } from '../database.ts'
import type { JobStore, JobTable } from './job-store.ts'
import { query } from '../database.ts'
import type { Connection } from '../statement.ts'
import type { JobRow } from '../tables.ts'
import { bossSchema, givenUp, heartbeatSeconds, passive } from './pg-boss-schema.ts'

interface Options {
  all: Scope
  db: Database['db']
  /** Runs several statements that take no values. */
  script(text: string): Promise<unknown>
}

/** What pg-boss keeps of a job beside its own columns; our id is its `singletonKey`. */
interface Kept {
  tenant: string
  data: NewJob['data']
  /** Times that it was begun before it was put back last. */
  attempts: number
  wantedAt: number
}

type Fetched = JobWithMetadata<Kept>

export interface BossJobs extends JobStore {
  close(): Promise<void>
}

/** How often pg-boss looks after what dead processes had, and removes what is old; one process at a time does it, whichever comes first. */
const intervals = { monitorIntervalSeconds: 3, maintenanceIntervalSeconds: 600 }

/** `JobStore` by pg-boss, over the pool that all queries share. */
export async function openBossJobs({ all, db, script }: Options): Promise<BossJobs> {
  const executeSql: Db['executeSql'] = (text, values = []) =>
    (values.length > 0 ? all.write.execute(text, values) : script(text)) as ReturnType<Db['executeSql']>
  const boss = new PgBoss({ db: { executeSql }, schema: bossSchema, migrate: false, ...passive, ...intervals })
  // It has none but of what it tells nobody else: every call of ours is told its own.
  boss.on('error', () => undefined)
  await boss.start()

  async function insert(connection: Connection, jobs: readonly NewJob[]): Promise<void> {
    const at = Date.now()
    await insertKept(
      connection,
      jobs.map((job) => ({ ...job, attempts: 0, wantedAt: job.dueAt, inMs: job.dueAt - at })),
    )
  }

  async function insertKept(connection: Connection, jobs: readonly Inserted[]): Promise<void> {
    for (const [kind, jobsOfKind] of Map.groupBy(jobs, (job) => job.kind)) {
      await boss.insert(kind, jobsOfKind.map(toInsert), { db: toDb(connection), returnId: false })
    }
  }

  /** Jobs that an older version of this program keeps, or kept, in a table. */
  async function carryOver(): Promise<void> {
    const at = Date.now()
    const { rows } = await all.read.execute('select from jobs limit 1', [])
    if (rows.length === 0) return
    await all.unit(async (connection) => {
      const { rows } = await query(connection, db.deleteFrom('jobs').returningAll())
      await insertKept(
        connection,
        rows.map((row) => fromRow(row, at)),
      )
    })
  }

  await carryOver()
  let carriedAt = performance.now()
  return {
    leaseMs: heartbeatSeconds * 1000,
    insert,
    table: ({ now }) => bossTable({ boss, all, insertKept, now }),
    async count() {
      const queues = (await boss.getQueues()).map(({ name, queuedCount, activeCount }) => ({
        kind: name,
        count: queuedCount + activeCount,
      }))
      return queues.filter(({ count }) => count > 0).sort((a, b) => (a.kind < b.kind ? -1 : 1))
    },
    async keepUp() {
      await boss.supervise()
      if (performance.now() - carriedAt < carryEveryMs) return
      carriedAt = performance.now()
      await carryOver()
    },
    close: () => boss.stop({ graceful: false, close: false }),
  }
}

const carryEveryMs = 60_000

interface BossTable {
  boss: PgBoss
  all: Scope
  insertKept(connection: Connection, jobs: readonly Inserted[]): Promise<void>
  now(): number
}

function bossTable({ boss, all, insertKept, now }: BossTable): JobTable {
  /** What pg-boss calls the jobs that were claimed. */
  const attempts = new WeakMap<Job, Pick<Fetched, 'id' | 'retryCount'>>()

  async function claim(kind: JobKind, limit: number): ReturnType<JobTable['claim']> {
    // The number stands in the statement: powers of two keep the prepared ones few.
    const batchSize = 2 ** Math.floor(Math.log2(limit))
    const fetched = await boss.fetch<Kept>(kind, { batchSize, includeMetadata: true })
    const claimed = fetched.toSorted(byTurn).map((bossJob) => {
      const job = toJob(kind, bossJob)
      attempts.set(job, { id: bossJob.id, retryCount: bossJob.retryCount })
      return { job, wantedAt: bossJob.data.wantedAt }
    })
    return { claimed, nextMs: fetched.length === batchSize ? 0 : undefined }
  }

  /** Takes it out, and puts another in its place with the same commit; nothing where another has begun it since. */
  async function replace(job: Job, next: (connection: Connection) => Promise<void>): Promise<void> {
    await all.unit(async (connection) => {
      const deletion = await boss.deleteJob(job.kind, attempts.get(job)!, { db: toDb(connection) })
      if ((deletion as Settled).affected > 0) await next(connection)
    })
  }

  return {
    claim,
    async renew(jobs) {
      const [first] = jobs
      if (!first) return []
      const claims = jobs.map((job) => attempts.get(job)!)
      const touched = await boss.touch(first.kind, claims)
      const ours = new Set((touched as Settled).settled)
      // One that was lost may have been begun here again: both have its id.
      const newest = new Map<string, number>()
      for (const { id, retryCount } of claims) newest.set(id, Math.max(retryCount, newest.get(id) ?? 0))
      return jobs.filter((_, n) => !ours.has(claims[n]!.id) || claims[n]!.retryCount < newest.get(claims[n]!.id)!)
    },
    putBack: (job, dueAt, wantedAt) =>
      replace(job, (connection) => insertKept(connection, [{ ...job, attempts: job.attempt, wantedAt, inMs: dueAt - now() }])),
    async remove(job) {
      await boss.deleteJob(job.kind, attempts.get(job)!)
    },
    giveUp: (job) =>
      replace(job, async (connection) => {
        const { id, kind, tenant, data } = job
        await boss.insert(givenUp, [{ singletonKey: id, data: { kind, tenant, data } }], { db: toDb(connection) })
      }),
  }
}

interface Inserted extends NewJob {
  attempts: number
  wantedAt: number
  /** Not as a time: the database goes by its own clock. */
  inMs: number
}

/** What its answers hold beside what their type tells. */
interface Settled {
  affected: number
  settled?: string[]
}

function toInsert({ id, tenant, data, rank = 0, attempts, wantedAt, inMs }: Inserted): JobInsert<Kept> {
  return { singletonKey: id, data: { tenant, data, attempts, wantedAt }, priority: -rank, startAfter: `${inMs / 1000}` }
}

function fromRow({ id, kind, tenant, data, due_at, attempts, wanted_at, rank }: JobRow, at: number): Inserted {
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
