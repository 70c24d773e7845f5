import type { Job, JobKind, NewJob } from '../../runs/jobs.ts'
import type { Connection } from '../statement.ts'

/** Port: the durable queue of jobs. */
export interface JobStore {
  /** Lease in milliseconds: a claimed job that is not renewed within the lease may be claimed again. */
  readonly leaseMs: number
  /** Adds jobs within a unit of work. A job with an existing id is skipped. */
  insert(connection: Connection, jobs: readonly NewJob[]): Promise<void>
  table(options: { now(): number }): JobTable
  /** Counts waiting and active jobs of all processes by kind. The numbers are a few seconds old. */
  count(): Promise<{ kind: string; count: number }[]>
  /** Counts the jobs by kind and state. `running`: the jobs that this process runs, by kind. */
  states(options: { now: number; running: ReadonlyMap<string, number> }): Promise<JobStates[]>
  /** Returns jobs of dead processes to the queue, and returns the kinds with jobs that are due before the next call. Called every `maintainMs`. */
  maintain?(): Promise<JobKind[]>
}

/** Milliseconds between calls of `maintain`. */
export const maintainMs = 3000

/** Numbers of jobs of a kind. */
export interface JobStates {
  kind: string
  /** Wait for a worker now, or for a time. */
  due: number
  scheduled: number
  running: number
  /** Have failed, and wait for the next try, or were given up. */
  failed: number
}

/** The operations of a worker. A claim holds a job for one lease, and `renew` extends the lease. */
export interface JobTable {
  /** Claims up to `limit` due jobs. Concurrent claims never get the same job. */
  claim(kind: JobKind, limit: number): Promise<Claim>
  /** Milliseconds until the next job is due; undefined if `maintain` finds the job in time. Absent where each claim tells. */
  nextMs?(kind: JobKind): Promise<number | undefined>
  /** Renews the leases. Returns the jobs that another worker has claimed since. */
  renew(jobs: readonly Job[]): Promise<Job[]>
  /** Makes the job due at `dueAt`. `wantedAt` restarts the day after which a failing job is given up. */
  requeue(job: Job, dueAt: number, wantedAt: number): Promise<void>
  remove(job: Job): Promise<void>
  /** Ends a job that failed for too long: no worker claims the job again. */
  giveUp(job: Job): Promise<void>
}

export interface Claim {
  claimed: ClaimedJob[]
  /** Milliseconds from now until the next job may be due; undefined: unknown. */
  nextMs: number | undefined
}

export interface ClaimedJob {
  job: Job
  /** First due time, or that of the last requeue, in epoch milliseconds. */
  wantedAt: number
}
