import type { Logger } from 'pino'
import { ServiceError } from '../../errors.ts'
import type { Job, JobKind, JobOutcome } from '../../runs/jobs.ts'
import type { ClaimedJob, JobTable } from './job-store.ts'
import { settlesWithin } from '../../concurrency/settles-within.ts'

interface Options {
  kind: JobKind
  concurrency(): number
  work(job: Job, signal: AbortSignal): Promise<JobOutcome>
  table: JobTable
  /** How often it says of its jobs that it still has them. */
  renewMs: number
  /** A job is due again at once: others may have room for it. */
  onPutBack(): void
  now(): number
  log: Logger
}

/** Does the jobs of one kind. */
export interface JobWorker {
  /** A job may be due. Resolves when it was looked for. */
  look(): Promise<void>
  /** Takes nothing new. */
  stop(): void
  /** Takes nothing new and waits for what runs, `ms` at most; what runs longer is aborted and put back. */
  drain(ms: number): Promise<void>
}

/** Nobody need tell of jobs that another process left: one look this often. */
const pollMs = 5000
const firstDelayMs = 1000
const maxDelayMs = 3_600_000
const giveUpAfterMs = 24 * 3_600_000
/** What was aborted hears it at once; what does not is left behind. */
const lastMs = 2000

export function createJobWorker({ kind, concurrency, work, table, renewMs, onPutBack, now, log }: Options): JobWorker {
  const running = new Map<Job, { done: Promise<void>; stopping: AbortController }>()
  const renewal = setInterval(() => void renew(), renewMs).unref()
  let currentPoll: Promise<void> | undefined
  let isCalled = false
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  function look(): Promise<void> {
    isCalled = true
    return (currentPoll ??= lookAll())
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
      timer = setTimeout(() => void look(), Math.min(waitMs, pollMs)).unref()
    }
    // In the same breath as the last look at `isCalled`: no call gets lost in between.
    currentPoll = undefined
  }

  /** Starts what is due, as far as there is room; answers when to look again, in milliseconds. */
  async function takeDue(): Promise<number> {
    const free = concurrency() - running.size
    // The next one that ends looks again.
    if (free <= 0) return pollMs
    const { claimed, nextMs } = await table.claim(kind, free)
    for (const claimedJob of claimed) start(claimedJob)
    return nextMs ?? pollMs
  }

  function start(claimed: ClaimedJob): void {
    const stopping = new AbortController()
    const done = perform(claimed, stopping)
      .catch((err: unknown) => log.error({ err, kind, job: claimed.job.id }, 'job'))
      .finally(() => {
        running.delete(claimed.job)
        void look()
      })
    running.set(claimed.job, { done, stopping })
  }

  async function perform({ job, wantedAt }: ClaimedJob, stopping: AbortController): Promise<void> {
    // Claimed in the moment in which it was stopped.
    if (isClosed) return putBack(job, now(), wantedAt)
    try {
      const outcome = await work(job, stopping.signal)
      await (outcome.kind === 'done' ? table.remove(job) : putBack(job, outcome.at, outcome.at))
    } catch (err) {
      if (stopping.signal.aborted) return await putBack(job, now(), wantedAt)
      await fail(job, wantedAt, err)
    }
  }

  async function putBack(job: Job, dueAt: number, wantedAt: number): Promise<void> {
    await table.putBack(job, dueAt, wantedAt)
    if (dueAt <= now()) onPutBack()
  }

  /** What another has begun would be done twice. */
  async function renew(): Promise<void> {
    if (running.size === 0) return
    const lostJobs = await table.renew([...running.keys()]).catch(() => [])
    for (const job of lostJobs) running.get(job)?.stopping.abort()
  }

  async function fail(job: Job, wantedAt: number, err: unknown): Promise<void> {
    // Nothing is left of what it was about.
    if (err instanceof ServiceError && err.code === 'gone') return table.remove(job)
    const details = { err, kind, job: job.id, tenant: job.tenant, attempt: job.attempt }
    if (now() - wantedAt >= giveUpAfterMs) {
      log.error(details, 'job given up')
      return table.giveUp(job)
    }
    log.warn(details, 'job failed')
    return table.putBack(job, now() + Math.min(firstDelayMs * 2 ** (job.attempt - 1), maxDelayMs), wantedAt)
  }

  function stop(): void {
    isClosed = true
    clearTimeout(timer)
  }

  async function drain(ms: number): Promise<void> {
    stop()
    await currentPoll
    await within(ms)
    for (const { stopping } of running.values()) stopping.abort()
    await within(lastMs)
    clearInterval(renewal)
  }

  async function within(ms: number): Promise<void> {
    await settlesWithin(Promise.all([...running.values()].map(({ done }) => done)), ms)
  }

  return { look, stop, drain }
}
