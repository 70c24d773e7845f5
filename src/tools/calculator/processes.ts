import type { ChildProcess } from 'node:child_process'
import { endProcess, setBusy, startLimited } from '../../files/limited-process.ts'
import type { Answer } from './worker.ts'

export interface CalculatorProcesses {
  /** Throws an `Error` whose message is for the model; an abort rejects with the signal's reason. */
  calculate(expression: string, signal: AbortSignal): Promise<string>
  close(): Promise<void>
}

export interface CalculatorLimits {
  /** For one expression, from the moment when a process takes it. */
  expressionMs: number
  /** Without work for this long a process is ended: it holds about 100 MB. */
  idleMs: number
}

interface Job {
  expression: string
  resolve(result: string): void
  reject(error: unknown): void
}

interface Lane {
  child: ChildProcess
  ready: boolean
  job?: Job
  /** Of its job, or of its rest. */
  timer?: NodeJS.Timeout
}

/** An expression that takes longer is no sum; calls that wait behind a handful of those still have most of their 30 s. */
const defaults: CalculatorLimits = { expressionMs: 2_000, idleMs: 300_000 }
/** Generous for sums (mathjs itself takes 40 MB), too small to hurt the machine. */
const options = { limits: { dataKb: 700_000, heapMb: 192 } }
/** The second is for those who would wait behind somebody's endless expression. */
const maxProcesses = 2
/** A call that has waited so long waits behind no sum. */
const patienceMs = 100

/**
 * Calculates in processes of its own, each one expression at a time, so that killing a process (which is the only way to stop an
 * expression) ends no other call's work, and memory that runs out ends nothing else. They are made when they are first needed.
 */
export function createCalculatorProcesses(limits: Partial<CalculatorLimits> = {}): CalculatorProcesses {
  const { expressionMs, idleMs } = { ...defaults, ...limits }
  const waiting: Job[] = []
  const lanes = new Set<Lane>()
  let crowded: NodeJS.Timeout | undefined
  let closed = false

  function open(): void {
    const lane: Lane = { child: startLimited(new URL('./worker', import.meta.url), options), ready: false }
    lanes.add(lane)
    lane.child.on('message', (answer: Answer) => {
      if ('ready' in answer) lane.ready = true
      else finish(lane, (job) => settle(job, answer))
      advance()
    })
    lane.child.on('error', (error) => lose(lane, new Error('The calculator can not be started.', { cause: error })))
    lane.child.on('exit', (_code, signal) => lose(lane, new Error(signal ? exhausted : 'The calculator stopped unexpectedly.')))
  }

  function lose(lane: Lane, error: Error): void {
    if (!lanes.delete(lane)) return
    // One that dies while it loads would die again: whoever waits is told, and the next call tries anew.
    if (!lane.ready && lanes.size === 0) for (const job of waiting.splice(0)) job.reject(error)
    finish(lane, (job) => job.reject(error))
    advance()
  }

  function finish(lane: Lane, tell: (job: Job) => void): void {
    const { job } = lane
    if (!job) return
    clearTimeout(lane.timer)
    delete lane.timer
    delete lane.job
    tell(job)
  }

  /** Stops what the process does by ending it; who waits gets another. */
  function drop(lane: Lane, reason: unknown): Promise<void> {
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
    for (const lane of lanes) if (lane.ready && !lane.job && waiting.length > 0) take(lane, waiting.shift() as Job)
    if (waiting.length > 0) findRoom()
    for (const lane of lanes) {
      const isBusy = lane.job !== undefined || waiting.length > 0
      setBusy(lane.child, isBusy)
      if (!isBusy && lane.ready) lane.timer ??= setTimeout(() => void drop(lane, undefined), idleMs).unref()
    }
  }

  function take(lane: Lane, job: Job): void {
    clearTimeout(lane.timer)
    lane.job = job
    lane.timer = setTimeout(() => void drop(lane, new Error(`The expression took longer than ${expressionMs / 1000} s.`)), expressionMs)
    lane.child.send({ expression: job.expression }, (error) => error && lose(lane, new Error('The calculator is gone.', { cause: error })))
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

  function calculate(expression: string, signal: AbortSignal): Promise<string> {
    return new Promise<string>((resolve, reject) => {
      if (closed) return reject(closedError())
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
      const job: Job = { expression, resolve: listening(resolve), reject: listening(reject) }
      signal.addEventListener('abort', abort, { once: true })
      waiting.push(job)
      advance()
    })
  }

  async function close(): Promise<void> {
    closed = true
    clearTimeout(crowded)
    for (const job of waiting.splice(0)) job.reject(closedError())
    await Promise.all([...lanes].map((lane) => drop(lane, closedError())))
  }

  return { calculate, close }
}

const exhausted = 'The expression needs too much memory.'

function closedError(): Error {
  return new Error('The calculator is closed.')
}

function settle(job: Job, answer: Exclude<Answer, { ready: true }>): void {
  if ('result' in answer) job.resolve(answer.result)
  else job.reject(new Error(`The expression can not be calculated: ${answer.error.replace(/\.$/, '')}.`))
}
