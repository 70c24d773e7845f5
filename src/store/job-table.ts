import type { Job, JobKind } from '../runs/jobs.ts'
import type { Database } from './database.ts'
import { jobStatements } from './job-statements.ts'
import type { JobRow } from './tables.ts'

/** What a worker asks of the place where jobs are kept. Who has a job has it for a lease, and longer as long as it says so. */
export interface JobTable {
  /** Of two that claim at once, no job goes to both. */
  claim(kind: JobKind, most: number): Promise<Claim>
  /** Answers with those that another has begun since. */
  renew(jobs: readonly Job[]): Promise<Job[]>
  /** It is due then; `wantedAt` starts the day anew after which a failing job is given up. */
  putBack(job: Job, dueAt: number, wantedAt: number): Promise<void>
  remove(job: Job): Promise<void>
  /** It has failed for too long: it is not tried again. */
  giveUp(job: Job): Promise<void>
}

export interface Claim {
  claimed: ClaimedJob[]
  /** When the next may be due, in milliseconds from now, as far as that is known. */
  nextMs: number | undefined
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

/** In the way of who else claims what is due, one looks again after so long. */
const raceMs = 100

/** `JobTable` in the table `jobs`. */
export function createJobTable(database: Database, { leaseMs, now }: Options): JobTable {
  const { read, unit } = database.all
  const statements = jobStatements(database.db, database.isShared)

  async function remove(job: Job): Promise<void> {
    await unit((connection) => statements.remove(connection, begun(job)))
  }

  return {
    async claim(kind, most) {
      const due = (await statements.nextDue(read, { kind })).rows[0]?.due_at
      if (due === undefined || due > now()) return { claimed: [], nextMs: due && due - now() }
      const claim = { kind, most, now: now(), until: now() + leaseMs }
      const { rows } = await unit((connection) => statements.claim(connection, claim))
      // A statement answers in any order.
      const inOrder = rows.toSorted((a, b) => a.rank - b.rank || a.wanted_at - b.wanted_at)
      return { claimed: inOrder.map((row) => ({ job: toJob(row), wantedAt: row.wanted_at })), nextMs: rows.length > 0 ? 0 : raceMs }
    },
    async renew(jobs) {
      const until = now() + leaseMs
      return unit(async (connection) => {
        const lost: Job[] = []
        for (const job of jobs) if ((await statements.renew(connection, { ...begun(job), until })).rows.length === 0) lost.push(job)
        return lost
      })
    },
    async putBack(job, dueAt, wantedAt) {
      await unit((connection) => statements.putBack(connection, { ...begun(job), dueAt, wantedAt }))
    },
    remove,
    giveUp: remove,
  }
}

function begun({ id, attempt }: Job) {
  return { id, attempts: attempt }
}

function toJob({ id, kind, tenant, data, due_at, attempts, rank }: JobRow): Job {
  return { id, kind: kind as JobKind, tenant, data: JSON.parse(data) as Job['data'], dueAt: due_at, attempt: attempts, rank }
}
