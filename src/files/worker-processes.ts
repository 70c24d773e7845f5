import type { ChildProcess } from 'node:child_process'
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
  /** The second is for those who would wait behind somebody's endless question. */
  maxProcesses: number
  /** For who asked: sentences. */
  words: { slow: string; exhausted: string; lost: string; closed: string }
}

export interface WorkerProcesses<Q, A> {
  /** Rejects with one of the words; an abort rejects with the signal's reason. */
  ask(question: Q, signal: AbortSignal): Promise<A>
  close(): Promise<void>
}

interface Job<Q, A> {
  question: Q
  resolve(answer: A): void
  reject(error: unknown): void
}

interface Lane<Q, A> {
  child: ChildProcess
  ready: boolean
  answered: number
  job?: Job<Q, A>
  /** Of its job, or of its rest. */
  timer?: NodeJS.Timeout
}

/** A call that has waited so long waits behind nothing quick. */
const patienceMs = 100

/**
 * Processes that answer one question at a time, so that killing one (which is the only way to stop what runs away) ends no other
 * call's work, and memory that runs out ends nothing else. They are made when they are first needed, and end after a rest.
 */
export function createWorkerProcesses<Q extends object, A extends object>(options: WorkerOptions): WorkerProcesses<Q, A> {
  const { module, questionMs, questionsPerProcess = Infinity, idleMs, maxProcesses, words } = options
  const waiting: Job<Q, A>[] = []
  const lanes = new Set<Lane<Q, A>>()
  let crowded: NodeJS.Timeout | undefined
  let closed = false

  function open(): void {
    const lane: Lane<Q, A> = { child: startLimited(module, options), ready: false, answered: 0 }
    lanes.add(lane)
    lane.child.on('message', (said: WorkerMessage<A>) => {
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
    // One that dies while it loads would die again: whoever waits is told, and the next call tries anew.
    if (!lane.ready && lanes.size === 0) for (const job of waiting.splice(0)) job.reject(error)
    finish(lane, (job) => job.reject(error))
    clearTimeout(lane.timer)
    advance()
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
    clearTimeout(crowded)
    crowded = undefined
    finish(lane, (job) => job.reject(reason))
    clearTimeout(lane.timer)
    const ended = endProcess(lane.child)
    advance()
    return ended
  }

  function advance(): void {
    if (closed) return
    for (const lane of lanes) if (lane.ready && !lane.job && waiting.length > 0) take(lane, waiting.shift() as Job<Q, A>)
    if (waiting.length > 0) findRoom()
    for (const lane of lanes) {
      const isBusy = lane.job !== undefined || waiting.length > 0
      setBusy(lane.child, isBusy)
      if (!isBusy && lane.ready) lane.timer ??= setTimeout(() => void drop(lane, undefined), idleMs).unref()
    }
  }

  function take(lane: Lane<Q, A>, job: Job<Q, A>): void {
    clearTimeout(lane.timer)
    lane.job = job
    lane.timer = setTimeout(() => void drop(lane, new Error(words.slow)), questionMs)
    lane.child.send(job.question, (cause) => cause && lose(lane, new Error(words.lost, { cause })))
  }

  function findRoom(): void {
    if (lanes.size === 0) return open()
    if (lanes.size === maxProcesses || crowded) return
    crowded = setTimeout(() => {
      crowded = undefined
      const isFull = [...lanes].every((lane) => lane.job)
      if (isFull && waiting.length > 0 && lanes.size < maxProcesses) open()
      advance()
    }, patienceMs)
  }

  function ask(question: Q, signal: AbortSignal): Promise<A> {
    return new Promise<A>((resolve, reject) => {
      if (closed) return reject(new Error(words.closed))
      if (signal.aborted) return reject(signal.reason)
      const abort = () => {
        const lane = [...lanes].find((lane) => lane.job === job)
        if (lane) return void drop(lane, signal.reason)
        waiting.splice(waiting.indexOf(job), 1)
        job.reject(signal.reason)
        advance()
      }
      const listening = (done: (value: never) => void) => (value: unknown) => {
        signal.removeEventListener('abort', abort)
        done(value as never)
      }
      const job: Job<Q, A> = { question, resolve: listening(resolve), reject: listening(reject) }
      signal.addEventListener('abort', abort, { once: true })
      waiting.push(job)
      advance()
    })
  }

  async function close(): Promise<void> {
    closed = true
    clearTimeout(crowded)
    const error = new Error(words.closed)
    for (const job of waiting.splice(0)) job.reject(error)
    await Promise.all([...lanes].map((lane) => drop(lane, error)))
  }

  return { ask, close }
}
