import type { ChildProcess } from 'node:child_process'
import { callerKey, type Owner } from '../access/owner.ts'
import { FairQueue, shareOf } from './fair-queue.ts'
import { endProcess, setBusy, startLimited, type ProcessOptions } from './limited-process.ts'

/** What a worker says: once that it is ready, then one answer to each question, in their order. */
export type WorkerMessage<A> = { ready: true } | A

export interface WorkerOptions extends ProcessOptions {
  /** The worker's URL without the ending. */
  module: URL
  /** For one question, from the moment when a process takes it. */
  questionMs: number
  /** Then it is replaced by another, before what it has used of its `cpuSeconds` could end it. Default: never. */
  questionsPerProcess?: number
  /** Without work for this long a process is ended. */
  idleMs: number
  /** One caller has half of them at most, so that an endless question of one holds up no other. A process that is kept ready for another tenant is not counted. */
  maxProcesses: number
  /** For who asked: sentences. */
  words: { slow: string; exhausted: string; lost: string; closed: string }
}

export interface WorkerProcesses<Q, A> {
  /** Rejects with one of the words, or with `PoolBusy`; an abort rejects with the signal's reason. The question meets a process that has worked for no other tenant. */
  ask(question: Q, signal: AbortSignal, caller: Owner): Promise<A>
  close(): Promise<void>
}

interface Job<Q, A> {
  question: Q
  caller: Owner
  /** Of `performance.now()`. */
  since: number
  resolve(answer: A): void
  reject(error: unknown): void
}

interface Lane<Q, A> {
  child: ChildProcess
  ready: boolean
  answered: number
  /** Whose questions the process has seen. Undefined: nobody's. */
  tenant?: string
  job?: Job<Q, A>
  /** Of its job, or of its rest. */
  timer?: NodeJS.Timeout
}

/** A job that has waited so long behind its own tenant's jobs waits behind nothing quick. */
const patienceMs = 100

/**
 * Processes that answer one question at a time, so that killing one (which is the only way to stop what runs away) ends no other
 * call's work, and memory that runs out ends nothing else. They are made when they are first needed, and end after a rest.
 *
 * A process belongs to the tenant of its first question: whatever a question can leave behind in it (a changed prototype, a cache) never meets another
 * tenant's. Where several tenants ask, a process that has seen nobody's question is kept ready, so that a change of tenants costs no start.
 */
export function createWorkerProcesses<Q extends object, A extends object>(options: WorkerOptions): WorkerProcesses<Q, A> {
  const { module, questionMs, questionsPerProcess = Infinity, idleMs, maxProcesses, words } = options
  const waiting = new FairQueue<Job<Q, A>>()
  const share = shareOf(maxProcesses)
  /** The one whose last work is longest ago is first. */
  const lanes = new Set<Lane<Q, A>>()
  let lastTenant: string | undefined
  let crowded: NodeJS.Timeout | undefined
  let closed = false

  function open(): void {
    const lane: Lane<Q, A> = { child: startLimited(module, options), ready: false, answered: 0 }
    lanes.add(lane)
    lane.child.on('message', (said: WorkerMessage<A>) => {
      // A process that speaks unasked does not run the code that it was started with: reading on would cost the service time.
      if ('ready' in said ? lane.ready : !lane.job) return void drop(lane, new Error(words.lost))
      if ('ready' in said) lane.ready = true
      else finish(lane, (job) => job.resolve(said))
      if (!('ready' in said) && ++lane.answered >= questionsPerProcess) void drop(lane, undefined)
      else advance()
    })
    lane.child.on('error', (cause) => lose(lane, new Error(words.lost, { cause })))
    lane.child.on('exit', (_code, signal) => lose(lane, new Error(signal ? words.exhausted : words.lost)))
  }

  function lose(lane: Lane<Q, A>, error: Error): void {
    if (!lanes.delete(lane)) return
    if (!lane.ready) rejectHopeless(error)
    finish(lane, (job) => job.reject(error))
    clearTimeout(lane.timer)
    advance()
  }

  /** A process that dies while it loads would die again: jobs that no loaded process will take are rejected, and the next call tries anew. */
  function rejectHopeless(error: Error): void {
    const tenants = new Set([...lanes].filter((lane) => lane.ready).map((lane) => lane.tenant))
    for (const job of waiting) {
      if (tenants.has(job.caller.tenant) || tenants.has(undefined)) continue
      waiting.remove(job)
      job.reject(error)
    }
  }

  function finish(lane: Lane<Q, A>, tell: (job: Job<Q, A>) => void): void {
    const { job } = lane
    if (!job) return
    clearTimeout(lane.timer)
    delete lane.timer
    delete lane.job
    tell(job)
  }

  /** Stops what the process does by ending it; who waits gets another. */
  function drop(lane: Lane<Q, A>, reason: unknown): Promise<void> {
    lanes.delete(lane)
    finish(lane, (job) => job.reject(reason))
    clearTimeout(lane.timer)
    const ended = endProcess(lane.child)
    advance()
    return ended
  }

  function advance(): void {
    if (closed) return
    let reserved = 0
    for (const job of waiting) {
      if (countBusy(job.caller) >= share) continue
      const lane = findLane(job.caller.tenant)
      if (lane) take(lane, job)
      else if (reserved < countStarting()) reserved++
      else if (mayStart(job)) open()
    }
    for (const lane of lanes) {
      const isBusy = lane.job !== undefined || waiting.size > 0
      setBusy(lane.child, isBusy)
      if (!isBusy && lane.ready) lane.timer ??= setTimeout(() => void drop(lane, undefined), idleMs).unref()
    }
  }

  function countBusy(caller: Owner): number {
    const key = callerKey(caller)
    return [...lanes].filter(({ job }) => job && callerKey(job.caller) === key).length
  }

  function countStarting(): number {
    return [...lanes].filter((lane) => !lane.ready).length
  }

  /** A free process of the tenant, or one of nobody's where there is room for one more of somebody's. */
  function findLane(tenant: string): Lane<Q, A> | undefined {
    const free = [...lanes].filter((lane) => lane.ready && !lane.job)
    const own = free.find((lane) => lane.tenant === tenant)
    if (own) return own
    const fresh = free.find((lane) => lane.tenant === undefined)
    const count = [...lanes].filter((lane) => lane.tenant !== undefined).length
    return fresh && (count < maxProcesses || endIdle()) ? fresh : undefined
  }

  function mayStart({ caller, since }: Job<Q, A>): boolean {
    const ownBusy = [...lanes].some((lane) => lane.tenant === caller.tenant)
    const waitedMs = performance.now() - since
    if (ownBusy && waitedMs < patienceMs) {
      crowded ??= setTimeout(() => {
        crowded = undefined
        advance()
      }, patienceMs - waitedMs)
      return false
    }
    return lanes.size < maxProcesses || endIdle()
  }

  /** Makes room by ending the process that has rested longest, of whatever tenant. */
  function endIdle(): boolean {
    const idle = [...lanes].find((lane) => lane.tenant !== undefined && !lane.job)
    if (!idle) return false
    lanes.delete(idle)
    clearTimeout(idle.timer)
    void endProcess(idle.child)
    return true
  }

  function take(lane: Lane<Q, A>, job: Job<Q, A>): void {
    waiting.serve(job)
    clearTimeout(lane.timer)
    const isChange = lane.tenant === undefined && lastTenant !== undefined && lastTenant !== job.caller.tenant
    lane.tenant = lastTenant = job.caller.tenant
    lane.job = job
    lanes.delete(lane)
    lanes.add(lane)
    lane.timer = setTimeout(() => void drop(lane, new Error(words.slow)), questionMs)
    lane.child.send(job.question, (cause) => cause && lose(lane, new Error(words.lost, { cause })))
    if (isChange && ![...lanes].some(({ tenant }) => tenant === undefined)) open()
  }

  function ask(question: Q, signal: AbortSignal, caller: Owner): Promise<A> {
    return new Promise<A>((resolve, reject) => {
      if (closed) return reject(new Error(words.closed))
      if (signal.aborted) return reject(signal.reason)
      const abort = () => {
        const lane = [...lanes].find((lane) => lane.job === job)
        if (lane) return void drop(lane, signal.reason)
        waiting.remove(job)
        job.reject(signal.reason)
        advance()
      }
      const listening = (done: (value: never) => void) => (value: unknown) => {
        signal.removeEventListener('abort', abort)
        done(value as never)
      }
      const job: Job<Q, A> = { question, caller, since: performance.now(), resolve: listening(resolve), reject: listening(reject) }
      waiting.add(job)
      signal.addEventListener('abort', abort, { once: true })
      advance()
    })
  }

  async function close(): Promise<void> {
    closed = true
    clearTimeout(crowded)
    const error = new Error(words.closed)
    for (const job of waiting.clear()) job.reject(error)
    await Promise.all([...lanes].map((lane) => drop(lane, error)))
  }

  return { ask, close }
}
