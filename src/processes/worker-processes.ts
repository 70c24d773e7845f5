import type { ChildProcess } from 'node:child_process'
import { callerKey, type Owner } from '../access/owner.ts'
import { FairQueue, shareOf } from './fair-queue.ts'
import { endProcess, setBusy, startLimited, type ProcessOptions } from './limited-process.ts'

/** Messages of a worker: first `{ ready: true }`, then one answer per question, in the order of the questions. */
export type WorkerMessage<A> = { ready: true } | A

export interface WorkerOptions extends ProcessOptions {
  /** URL of the worker without the extension. */
  module: URL
  /** Time limit of a question in milliseconds, from the moment when a process starts to work on the question. */
  questionMs: number
  /** Number of questions after which a process is replaced, before the CPU time used reaches `cpuSeconds`. Default: never. */
  questionsPerProcess?: number
  /** Milliseconds without work after which a process is ended. */
  idleMs: number
  /** A caller uses at most half of the processes, so that endless questions of a caller do not block other callers. The spare process is not counted. */
  maxProcesses: number
  /** Sentences for the caller. */
  errorTexts: { timedOut: string; outOfMemory: string; crashed: string; closed: string }
}

export interface WorkerProcesses<Q, A> {
  /** Rejects with one of `errorTexts`, with `PoolBusy`, or with the signal's reason. The question never shares a process with another tenant. */
  ask(question: Q, signal: AbortSignal, caller: Owner): Promise<A>
  close(): Promise<void>
}

interface Job<Q, A> {
  question: Q
  caller: Owner
  /** `performance.now()` when the job was queued. */
  queuedAt: number
  resolve(answer: A): void
  reject(error: unknown): void
}

interface Worker<Q, A> {
  child: ChildProcess
  ready: boolean
  answered: number
  /** Tenant of the questions so far. Undefined for a process that has had no question. */
  tenant?: string
  job?: Job<Q, A>
  /** Time limit of the current job or, without a job, of the idle period. */
  timer?: NodeJS.Timeout
}

/** Milliseconds for which a job waits for a process of its own tenant before a further process is started for the tenant. */
const ownTenantWaitMs = 100

/**
 * Pool of processes, each of which answers a single question at a time. Killing the process is the only way to stop a runaway question; with a
 * process per question no other call ends, and the same holds when memory runs out. Processes start on demand and end when idle.
 *
 * A process belongs to the tenant of its first question: state left behind by a question (a changed prototype, a cache) never reaches another
 * tenant. If several tenants ask, an unused process is kept ready, so that a change of tenants does not wait for a start.
 */
export function createWorkerProcesses<Q extends object, A extends object>(options: WorkerOptions): WorkerProcesses<Q, A> {
  const { module, questionMs, questionsPerProcess = Infinity, idleMs, maxProcesses, errorTexts } = options
  const waiting = new FairQueue<Job<Q, A>>()
  const share = shareOf(maxProcesses)
  /** Least recently used process first. */
  const workers = new Set<Worker<Q, A>>()
  let lastTenant: string | undefined
  let retryTimer: NodeJS.Timeout | undefined
  let closed = false

  function startWorker(): void {
    const worker: Worker<Q, A> = { child: startLimited(module, options), ready: false, answered: 0 }
    workers.add(worker)
    worker.child.on('message', (message: WorkerMessage<A>) => {
      // After an unexpected message the process no longer runs its original code. Reading further messages would cost the service time.
      if ('ready' in message ? worker.ready : !worker.job) return void endWorker(worker, new Error(errorTexts.crashed))
      if ('ready' in message) worker.ready = true
      else finish(worker, (job) => job.resolve(message))
      if (!('ready' in message) && ++worker.answered >= questionsPerProcess) void endWorker(worker, undefined)
      else assignJobs()
    })
    worker.child.on('error', (cause) => removeCrashed(worker, new Error(errorTexts.crashed, { cause })))
    worker.child.on('exit', (_code, signal) => removeCrashed(worker, new Error(signal ? errorTexts.outOfMemory : errorTexts.crashed)))
  }

  function removeCrashed(worker: Worker<Q, A>, error: Error): void {
    if (!workers.delete(worker)) return
    if (!worker.ready) rejectUnservable(error)
    finish(worker, (job) => job.reject(error))
    clearTimeout(worker.timer)
    assignJobs()
  }

  /** A process which exits during loading would exit again: reject the jobs which no ready process can take. The next call starts a new process. */
  function rejectUnservable(error: Error): void {
    const tenants = new Set([...workers].filter((worker) => worker.ready).map((worker) => worker.tenant))
    for (const job of waiting) {
      if (tenants.has(job.caller.tenant) || tenants.has(undefined)) continue
      waiting.remove(job)
      job.reject(error)
    }
  }

  function finish(worker: Worker<Q, A>, settle: (job: Job<Q, A>) => void): void {
    const { job } = worker
    if (!job) return
    clearTimeout(worker.timer)
    delete worker.timer
    delete worker.job
    settle(job)
  }

  /** Ends the process and the current job. Waiting jobs get another process. */
  function endWorker(worker: Worker<Q, A>, reason: unknown): Promise<void> {
    workers.delete(worker)
    finish(worker, (job) => job.reject(reason))
    clearTimeout(worker.timer)
    const ended = endProcess(worker.child)
    assignJobs()
    return ended
  }

  function assignJobs(): void {
    if (closed) return
    let reserved = 0
    for (const job of waiting) {
      if (countBusy(job.caller) >= share) continue
      const worker = findWorker(job.caller.tenant)
      if (worker) assign(worker, job)
      else if (reserved < countStarting()) reserved++
      else if (mayStart(job)) startWorker()
    }
    for (const worker of workers) {
      const isBusy = worker.job !== undefined || waiting.size > 0
      setBusy(worker.child, isBusy)
      if (!isBusy && worker.ready) worker.timer ??= setTimeout(() => void endWorker(worker, undefined), idleMs).unref()
    }
  }

  function countBusy(caller: Owner): number {
    const key = callerKey(caller)
    return [...workers].filter(({ job }) => job && callerKey(job.caller) === key).length
  }

  function countStarting(): number {
    return [...workers].filter((worker) => !worker.ready).length
  }

  /** An idle process of the tenant, or an unused process if the limit allows one more process with a tenant. */
  function findWorker(tenant: string): Worker<Q, A> | undefined {
    const idle = [...workers].filter((worker) => worker.ready && !worker.job)
    const idleOwn = idle.find((worker) => worker.tenant === tenant)
    if (idleOwn) return idleOwn
    const fresh = idle.find((worker) => worker.tenant === undefined)
    const count = [...workers].filter((worker) => worker.tenant !== undefined).length
    return fresh && (count < maxProcesses || endIdle()) ? fresh : undefined
  }

  function mayStart({ caller, queuedAt }: Job<Q, A>): boolean {
    const ownBusy = [...workers].some((worker) => worker.tenant === caller.tenant)
    const waitedMs = performance.now() - queuedAt
    if (ownBusy && waitedMs < ownTenantWaitMs) {
      retryTimer ??= setTimeout(() => {
        retryTimer = undefined
        assignJobs()
      }, ownTenantWaitMs - waitedMs)
      return false
    }
    return workers.size < maxProcesses || endIdle()
  }

  /** Ends the process that has been idle longest, of any tenant, to make room for another. */
  function endIdle(): boolean {
    const idle = [...workers].find((worker) => worker.tenant !== undefined && !worker.job)
    if (!idle) return false
    workers.delete(idle)
    clearTimeout(idle.timer)
    void endProcess(idle.child)
    return true
  }

  function assign(worker: Worker<Q, A>, job: Job<Q, A>): void {
    waiting.serve(job)
    clearTimeout(worker.timer)
    const isChange = worker.tenant === undefined && lastTenant !== undefined && lastTenant !== job.caller.tenant
    worker.tenant = lastTenant = job.caller.tenant
    worker.job = job
    workers.delete(worker)
    workers.add(worker)
    worker.timer = setTimeout(() => void endWorker(worker, new Error(errorTexts.timedOut)), questionMs)
    worker.child.send(job.question, (cause) => cause && removeCrashed(worker, new Error(errorTexts.crashed, { cause })))
    if (isChange && ![...workers].some(({ tenant }) => tenant === undefined)) startWorker()
  }

  function ask(question: Q, signal: AbortSignal, caller: Owner): Promise<A> {
    return new Promise<A>((resolve, reject) => {
      if (closed) return reject(new Error(errorTexts.closed))
      if (signal.aborted) return reject(signal.reason)
      const abort = () => {
        const worker = [...workers].find((worker) => worker.job === job)
        if (worker) return void endWorker(worker, signal.reason)
        waiting.remove(job)
        job.reject(signal.reason)
        assignJobs()
      }
      const withoutListener = (done: (value: never) => void) => (value: unknown) => {
        signal.removeEventListener('abort', abort)
        done(value as never)
      }
      const job: Job<Q, A> = {
        question,
        caller,
        queuedAt: performance.now(),
        resolve: withoutListener(resolve),
        reject: withoutListener(reject),
      }
      waiting.add(job)
      signal.addEventListener('abort', abort, { once: true })
      assignJobs()
    })
  }

  async function close(): Promise<void> {
    closed = true
    clearTimeout(retryTimer)
    const error = new Error(errorTexts.closed)
    for (const job of waiting.clear()) job.reject(error)
    await Promise.all([...workers].map((worker) => endWorker(worker, error)))
  }

  return { ask, close }
}
