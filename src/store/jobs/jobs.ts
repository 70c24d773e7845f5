import type { Logger } from 'pino'
import { localBus, type Bus } from '../../replicas/bus.ts'
import type { Job, JobKind, JobOutcome, Jobs } from '../../runs/jobs.ts'
import { type Database, maintainMs, type JobStates, type ClaimedJob, type JobTable } from '../database.ts'
import { ServiceError } from '../../errors.ts'
import { settlesWithin } from '../../concurrency/settles-within.ts'
import { reachState } from '../../states.ts'

interface JobsOptions {
  /** Epoch milliseconds. */
  now(): number
  log: Logger
  /** Interval in milliseconds at which a worker renews the leases of its jobs. */
  renewMs?: number
  /** Tells the workers of other processes. */
  bus?: Pick<Bus, 'publish' | 'subscribe' | 'onGap'>
}

export interface JobQueue extends Jobs {
  /** Counts the jobs by kind and state. */
  states(): Promise<JobStates[]>
}

/** `Jobs` in the store of either database. */
export function createJobs(database: Database, { now, log, bus = localBus, renewMs = database.jobs.leaseMs / 3 }: JobsOptions): JobQueue {
  const { jobs: store } = database
  const table = store.table({ now })
  const workers = new Map<JobKind, JobWorker>()
  const maintenance = store.maintain && setInterval(() => void maintain(), maintainMs).unref()
  let isClosed = false
  bus.subscribe('jobs', ({ kinds }) => poll(kinds as JobKind[]))
  bus.onGap(() => poll([...workers.keys()]))

  function poll(kinds: readonly JobKind[]): void {
    for (const kind of kinds) void workers.get(kind)?.poll()
  }

  /** Returns expired jobs of dead processes to the queue and polls, because no process publishes such jobs. */
  async function maintain(): Promise<void> {
    const kinds = await store.maintain?.().catch((err: unknown) => log.warn({ err }, 'jobs'))
    // Workers poll in turn, so that polls do not occupy all connections at once.
    for (const kind of kinds ?? []) await workers.get(kind)?.poll({ isNextSoon: true })
  }

  function wake(...kinds: JobKind[]): void {
    if (kinds.length === 0) return
    poll(kinds)
    bus.publish('jobs', { kinds: [...new Set(kinds)] })
  }

  return {
    wake,
    states: () => store.states({ now: now(), running: new Map([...workers].map(([kind, worker]) => [kind, worker.running()])) }),
    async add(jobs) {
      await database.all.unit((connection) => store.insert(connection, jobs))
      wake(...jobs.map(({ kind }) => kind))
    },
    handle(kind, concurrency, work) {
      if (isClosed) return () => undefined
      const untyped = work as (job: Job, signal: AbortSignal) => Promise<JobOutcome>
      const concurrencyLimit = typeof concurrency === 'number' ? () => concurrency : concurrency
      const onRequeue = () => wake(kind)
      const worker = createJobWorker({
        kind,
        concurrency: concurrencyLimit,
        work: untyped,
        table,
        renewMs,
        onRequeue,
        now,
        log,
        // `maintain` polls for due jobs of all kinds with one query.
        ...(store.maintain && { pollMs: maintainedPollMs }),
      })
      workers.set(kind, worker)
      void worker.poll()
      return worker.stop
    },
    async drain(ms) {
      isClosed = true
      clearInterval(maintenance)
      await Promise.all([...workers.values()].map((worker) => worker.drain(ms)))
    },
  }
}

const maintainedPollMs = 300_000

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
