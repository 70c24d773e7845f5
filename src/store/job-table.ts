import type { Job, JobKind } from '../runs/jobs.ts'
import type { Database } from './database.ts'
import { jobStatements } from './job-statements.ts'
import type { JobRow } from './tables.ts'

/** What a worker asks of the table `jobs`. Who has a job has it for a lease, and longer as long as it says so. */
export interface JobTable {
  /** When the first job of a kind is due; undefined where there is none. */
  nextDue(kind: JobKind): Promise<number | undefined>
  /** Of two that claim at once, no job goes to both. */
  claim(kind: JobKind, most: number): Promise<ClaimedJob[]>
  /** False where another has begun it since. */
  renew(job: Job): Promise<boolean>
  putBack(job: Job, dueAt: number, wantedAt: number): Promise<void>
  remove(job: Job): Promise<void>
}

export interface ClaimedJob {
  job: Job
  /** When it was to be done first, or again. */
  wantedAt: number
}

interface Options {
  leaseMs: number
  /** Epoch milliseconds. */
  now(): number
}

export function createJobTable(database: Database, { leaseMs, now }: Options): JobTable {
  const { read, unit } = database.all
  const statements = jobStatements(database.db, database.isShared)
  return {
    async nextDue(kind) {
      return (await statements.nextDue(read, { kind })).rows[0]?.due_at
    },
    async claim(kind, most) {
      const claim = { kind, most, now: now(), until: now() + leaseMs }
      const { rows } = await unit((connection) => statements.claim(connection, claim))
      // A statement answers in any order.
      return rows.map((row) => ({ job: toJob(row), wantedAt: row.wanted_at })).sort((a, b) => a.wantedAt - b.wantedAt)
    },
    async renew(job) {
      const { rows } = await unit((connection) => statements.renew(connection, { ...begun(job), until: now() + leaseMs }))
      return rows.length > 0
    },
    async putBack(job, dueAt, wantedAt) {
      await unit((connection) => statements.putBack(connection, { ...begun(job), dueAt, wantedAt }))
    },
    async remove(job) {
      await unit((connection) => statements.remove(connection, begun(job)))
    },
  }
}

function begun({ id, attempt }: Job) {
  return { id, attempts: attempt }
}

function toJob({ id, kind, tenant, data, due_at, attempts }: JobRow): Job {
  return { id, kind: kind as JobKind, tenant, data: JSON.parse(data) as Job['data'], dueAt: due_at, attempt: attempts }
}
