import type { Logger } from 'pino'
import { ServiceError } from '../../errors.ts'
import type { Job, JobKind, JobOutcome } from '../../runs/jobs.ts'
import { maintainMs, type ClaimedJob, type JobTable } from './job-store.ts'
import { settlesWithin } from '../../concurrency/settles-within.ts'
import { reachState } from '../../states.ts'

interface JobWorkerOptions {
  kind: JobKind
  concurrency(): number
  work(job: Job, signal: AbortSignal): Promise<JobOutcome>
  table: JobTable
  /** Interval in milliseconds at which the leases of running jobs are renewed. */
  renewMs: number
  /** Called when a requeued job is due at once, because another worker may have capacity. */
  onRequeue(): void
  now(): number
  log: Logger
  /** Poll interval in milliseconds, for jobs that no process publishes, such as those of a dead process. Default: 5000. */
  pollMs?: number
}

/** Runs the jobs of one kind. */
export interface JobWorker {
  /** Claims and starts due jobs. Resolves when no more jobs were due. `isNextSoon`: a job becomes due before the next maintenance. */
  poll(hint?: { isNextSoon: boolean }): Promise<void>
  /** The number of running jobs. */
  running(): number
  /** Stops claiming jobs. */
  stop(): void
  /** Stops claiming jobs and waits at most `ms` milliseconds for running jobs; then aborts and requeues the rest. */
  drain(ms: number): Promise<void>
}

const defaultPollMs = 5000
/** Milliseconds until the next poll after a failed one. */
const retryMs = 5000
const firstDelayMs = 1000
const maxDelayMs = 3_600_000
const giveUpAfterMs = 24 * 3_600_000
/** Milliseconds that aborted jobs get to end before a drain gives up on them. */
const abortGraceMs = 2000

export function createJobWorker(options: JobWorkerOptions): JobWorker {
  const { kind, concurrency, work, table, renewMs, onRequeue, now, log, pollMs = defaultPollMs } = options
  const running = new Map<Job, { done: Promise<void>; stopping: AbortController }>()
  const renewal = setInterval(() => void renew(), renewMs).unref()
  let currentPoll: Promise<void> | undefined
  let isRequested = false
  /** True while a job may become due before the next maintenance: then each poll asks for its time. */
  let isNextSoon = false
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  function poll(hint = { isNextSoon }): Promise<void> {
    isRequested = true
    isNextSoon = hint.isNextSoon
    return (currentPoll ??= pollAll())
  }

  async function pollAll(): Promise<void> {
    while (isRequested && !isClosed) {
      isRequested = false
      clearTimeout(timer)
      const waitMs = await claimDue().catch((err: unknown) => {
        log.error({ err, kind }, 'jobs')
        return retryMs
      })
      clearTimeout(timer)
      timer = setTimeout(() => void poll(), Math.min(waitMs, pollMs)).unref()
    }
    // No await since the last check of `isRequested`, so that no call is lost in between.
    currentPoll = undefined
  }

  /** Starts due jobs up to the concurrency limit. Returns the delay until the next poll in milliseconds. */
  async function claimDue(): Promise<number> {
    const free = concurrency() - running.size
    // The next job that ends polls again.
    if (free <= 0) return pollMs
    const { claimed, nextMs } = await table.claim(kind, free)
    for (const claimedJob of claimed) start(claimedJob)
    return nextMs ?? (await nextDueMs()) ?? pollMs
  }

  async function nextDueMs(): Promise<number | undefined> {
    if (!isNextSoon || !table.nextMs) return undefined
    isNextSoon = false
    const ms = await table.nextMs(kind)
    if (ms !== undefined) isNextSoon = true
    return ms
  }

  function start(claimed: ClaimedJob): void {
    const stopping = new AbortController()
    const done = perform(claimed, stopping)
      .catch((err: unknown) => log.error({ err, kind, job: claimed.job.id }, 'job'))
      .finally(() => {
        running.delete(claimed.job)
        void poll()
      })
    running.set(claimed.job, { done, stopping })
  }

  async function perform({ job, wantedAt }: ClaimedJob, stopping: AbortController): Promise<void> {
    // The worker was stopped during the claim.
    if (isClosed) return requeue(job, now(), wantedAt)
    try {
      const outcome = await work(job, stopping.signal)
      await (outcome.kind === 'done' ? table.remove(job) : requeue(job, outcome.at, outcome.at))
    } catch (err) {
      if (stopping.signal.aborted) return await requeue(job, now(), wantedAt)
      await fail(job, wantedAt, err)
    }
  }

  async function requeue(job: Job, dueAt: number, wantedAt: number): Promise<void> {
    await table.requeue(job, dueAt, wantedAt)
    const inMs = dueAt - now()
    if (inMs <= 0) onRequeue()
    else if (inMs <= maintainMs) isNextSoon = true
  }

  /** Renews the leases, and aborts jobs that another worker has claimed, which would be done twice otherwise. */
  async function renew(): Promise<void> {
    if (running.size === 0) return
    const lostJobs = await table.renew([...running.keys()]).catch(() => [])
    for (const job of lostJobs) running.get(job)?.stopping.abort()
  }

  async function fail(job: Job, wantedAt: number, err: unknown): Promise<void> {
    // The subject of the job was deleted.
    if (err instanceof ServiceError && err.code === 'gone') return table.remove(job)
    const details = { err, kind, job: job.id, tenant: job.tenant, attempt: job.attempt }
    if (now() - wantedAt >= giveUpAfterMs) {
      log.error(details, 'job given up')
      return table.giveUp(job)
    }
    reachState('job-failed')
    log.warn(details, 'job failed')
    return requeue(job, now() + Math.min(firstDelayMs * 2 ** (job.attempt - 1), maxDelayMs), wantedAt)
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
    await within(abortGraceMs)
    clearInterval(renewal)
  }

  async function within(ms: number): Promise<void> {
    await settlesWithin(Promise.all([...running.values()].map(({ done }) => done)), ms)
  }

  return {
    running: () => running.size,
    poll,
    stop,
    drain,
  }
}
