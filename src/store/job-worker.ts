import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { ServiceError } from '../errors.ts'
import type { Job, JobKind, JobOutcome } from '../runs/jobs.ts'
import type { ClaimedJob, JobTable } from './job-table.ts'

interface Options {
  kind: JobKind
  concurrency: number
  work(job: Job, signal: AbortSignal): Promise<JobOutcome>
  table: JobTable
  /** How often it says of a job that it still has it. */
  renewMs: number
  now(): number
  log: Logger
}

/** Does the jobs of one kind. */
export interface JobWorker {
  /** A job may be due. */
  look(): void
  /** Takes nothing new and waits for what runs, `ms` at most; what runs longer is aborted and put back. */
  drain(ms: number): Promise<void>
}

/** Nobody tells of jobs that another process left: one read of an index this often. */
const pollMs = 5000
const raceMs = 100
const firstDelayMs = 1000
const maxDelayMs = 3_600_000
const giveUpAfterMs = 24 * 3_600_000
/** What was aborted hears it at once; what does not is left behind. */
const lastMs = 2000

export function createJobWorker({ kind, concurrency, work, table, renewMs, now, log }: Options): JobWorker {
  const running = new Map<Promise<void>, AbortController>()
  let looking: Promise<void> | undefined
  let isCalled = false
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  function look(): void {
    isCalled = true
    looking ??= lookAll()
  }

  async function lookAll(): Promise<void> {
    while (isCalled && !isClosed) {
      isCalled = false
      clearTimeout(timer)
      const waitMs = await takeDue().catch((err: unknown) => {
        log.error({ err, kind }, 'jobs')
        return pollMs
      })
      clearTimeout(timer)
      timer = setTimeout(look, Math.min(waitMs, pollMs)).unref()
    }
    // In the same breath as the last look at `isCalled`: no call gets lost in between.
    looking = undefined
  }

  /** Starts what is due, as far as there is room; answers when to look again, in milliseconds. */
  async function takeDue(): Promise<number> {
    const free = concurrency - running.size
    // The next one that ends looks again.
    if (free <= 0) return pollMs
    const due = await table.nextDue(kind)
    if (due === undefined || isClosed) return pollMs
    if (due > now()) return due - now()
    const claimed = await table.claim(kind, free)
    for (const one of claimed) start(one)
    // Others may be just claiming what was due.
    return claimed.length > 0 ? 0 : raceMs
  }

  function start(claimed: ClaimedJob): void {
    const stopping = new AbortController()
    const done = perform(claimed, stopping)
      .catch((err: unknown) => log.error({ err, kind, job: claimed.job.id }, 'job'))
      .finally(() => {
        running.delete(done)
        look()
      })
    running.set(done, stopping)
    if (isClosed) stopping.abort()
  }

  async function perform({ job, wantedAt }: ClaimedJob, stopping: AbortController): Promise<void> {
    const lease = setInterval(() => void renew(job, stopping), renewMs).unref()
    try {
      const outcome = await work(job, stopping.signal)
      await (outcome.kind === 'done' ? table.remove(job) : table.putBack(job, outcome.at, outcome.at))
    } catch (err) {
      if (stopping.signal.aborted) return await table.putBack(job, now(), wantedAt)
      await fail(job, wantedAt, err)
    } finally {
      clearInterval(lease)
    }
  }

  /** Another has begun it: what is done here would be done twice. */
  async function renew(job: Job, stopping: AbortController): Promise<void> {
    const isOurs = await table.renew(job).catch(() => true)
    if (!isOurs) stopping.abort()
  }

  async function fail(job: Job, wantedAt: number, err: unknown): Promise<void> {
    // Nothing is left of what it was about.
    if (err instanceof ServiceError && err.code === 'gone') return table.remove(job)
    const about = { err, kind, job: job.id, tenant: job.tenant, attempt: job.attempt }
    if (now() - wantedAt >= giveUpAfterMs) {
      log.error(about, 'job given up')
      return table.remove(job)
    }
    log.warn(about, 'job failed')
    return table.putBack(job, now() + Math.min(firstDelayMs * 2 ** (job.attempt - 1), maxDelayMs), wantedAt)
  }

  async function drain(ms: number): Promise<void> {
    isClosed = true
    clearTimeout(timer)
    await looking
    await within(ms)
    for (const stopping of running.values()) stopping.abort()
    await within(lastMs)
  }

  async function within(ms: number): Promise<void> {
    const done = new AbortController()
    const all = Promise.all(running.keys()).finally(() => done.abort())
    await Promise.race([all, sleep(ms, undefined, { signal: done.signal }).catch(() => undefined)])
  }

  return { look, drain }
}
