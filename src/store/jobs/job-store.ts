import type { Job, JobKind, NewJob } from '../../runs/jobs.ts'
import type { Connection } from '../statement.ts'

/** The durable queue of jobs. */
export interface JobStore {
  /** Lease in milliseconds: a claimed job that is not renewed within the lease may be claimed again. */
  readonly leaseMs: number
  /** Adds jobs inside the unit of work that promises them. A job with an id that exists is not added again. */
  insert(connection: Connection, jobs: readonly NewJob[]): Promise<void>
  table(options: { now(): number }): JobTable
  /** Jobs that are still to be done, by kind, over all processes. The counts may be a few seconds old. */
  count(): Promise<{ kind: string; count: number }[]>
  /** Releases the jobs of dead processes; called every few seconds. */
  keepUp?(): Promise<void>
}

/** The queue as one worker uses it. A claimed job belongs to the worker for one lease, and longer while the worker renews it. */
export interface JobTable {
  /** A job is never claimed twice at once. */
  claim(kind: JobKind, limit: number): Promise<Claim>
  /** Returns the jobs that another worker has claimed since. */
  renew(jobs: readonly Job[]): Promise<Job[]>
  /** Makes the job due at `dueAt`. A failing job is given up a day after `wantedAt`. */
  putBack(job: Job, dueAt: number, wantedAt: number): Promise<void>
  remove(job: Job): Promise<void>
  /** Ends a job that has failed for too long: no worker claims the job again. */
  giveUp(job: Job): Promise<void>
}

export interface Claim {
  claimed: ClaimedJob[]
  /** Milliseconds until the next job may be due; undefined where the store does not know. */
  nextMs: number | undefined
}

export interface ClaimedJob {
  job: Job
  /** When the job was to be done, at first or since it was put back. */
  wantedAt: number
}
