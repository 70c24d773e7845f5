import { Worker } from 'node:worker_threads'

export interface CalculatorThread {
  /** Throws an `Error` whose message is for the model; an abort rejects with the signal's reason. */
  calculate(expression: string, signal: AbortSignal): Promise<string>
  close(): Promise<void>
}

export interface CalculatorLimits {
  /** For one expression, from the moment when the thread takes it. */
  expressionMs: number
  /** Without work for this long the thread is ended: it holds about 100 MB. */
  idleMs: number
}

interface Job {
  id: number
  expression: string
  resolve(result: string): void
  reject(error: unknown): void
}

interface Answer {
  ready?: boolean
  id?: number
  result?: string
  error?: string
}

/** An expression that takes longer than 5 s is no sum; calls that wait behind it still have most of their 30 s. */
const defaults: CalculatorLimits = { expressionMs: 5_000, idleMs: 300_000 }
/** Generous for sums (mathjs itself takes 40 MB), too small to hurt the process. */
const resourceLimits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 }

/**
 * Calculates in a thread of its own, one expression after another, so that ending the thread (which is the only way
 * to stop an expression) ends no other call's work. The thread is made when it is first needed.
 */
export function createCalculatorThread(limits: Partial<CalculatorLimits> = {}): CalculatorThread {
  const { expressionMs, idleMs } = { ...defaults, ...limits }
  const waiting: Job[] = []
  let running: Job | undefined
  let thread: { worker: Worker; ready: boolean } | undefined
  let timer: NodeJS.Timeout | undefined
  let lastId = 0
  let closed = false

  function open(): { worker: Worker; ready: boolean } {
    // No environment: an expression has no business with it.
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { resourceLimits, env: {}, name: 'calculator' })
    const opened = { worker, ready: false }
    const lost = (error?: Error) => {
      if (thread !== opened) return
      thread = undefined
      // One that dies while it loads would die again: whoever waits is told, and the next call tries anew.
      if (!opened.ready) for (const job of waiting.splice(0)) job.reject(toReadable(error))
      finish((job) => job.reject(toReadable(error)))
    }
    worker.on('error', lost)
    worker.on('exit', () => lost())
    worker.on('message', (answer: Answer) => {
      if (thread !== opened) return
      if (answer.ready) opened.ready = true
      else if (running && answer.id === running.id) return finish((job) => settle(job, answer))
      advance()
    })
    return opened
  }

  function end(): Promise<unknown> {
    const ended = thread?.worker.terminate()
    thread = undefined
    return ended ?? Promise.resolve()
  }

  function finish(tell: (job: Job) => void): void {
    clearTimeout(timer)
    const job = running
    running = undefined
    if (job) tell(job)
    advance()
  }

  function advance(): void {
    if (running || closed) return
    if (waiting.length === 0) return rest()
    thread ??= open()
    thread.worker.ref()
    // Loading mathjs takes a second on a busy machine: it is not the expression's time.
    if (!thread.ready) return
    clearTimeout(timer)
    running = waiting.shift() as Job
    thread.worker.postMessage({ id: running.id, expression: running.expression })
    timer = setTimeout(() => drop(new Error(`The expression took longer than ${expressionMs / 1000} s.`)), expressionMs)
  }

  function rest(): void {
    clearTimeout(timer)
    if (!thread) return
    thread.worker.unref()
    timer = setTimeout(() => void end(), idleMs).unref()
  }

  /** Stops the expression that runs, and with it the thread; those that wait get a new one. */
  function drop(reason: unknown): void {
    void end()
    finish((job) => job.reject(reason))
  }

  function calculate(expression: string, signal: AbortSignal): Promise<string> {
    return new Promise<string>((resolve, reject) => {
      if (closed) return reject(new Error('The calculator is closed.'))
      if (signal.aborted) return reject(signal.reason)
      const job: Job = { id: ++lastId, expression, resolve, reject }
      const abort = () => {
        if (running === job) return drop(signal.reason)
        waiting.splice(waiting.indexOf(job), 1)
        reject(signal.reason)
      }
      const listening = (done: (value: never) => void) => (value: unknown) => {
        signal.removeEventListener('abort', abort)
        done(value as never)
      }
      job.resolve = listening(resolve)
      job.reject = listening(reject)
      signal.addEventListener('abort', abort, { once: true })
      waiting.push(job)
      advance()
    })
  }

  async function close(): Promise<void> {
    closed = true
    const ended = end()
    for (const job of waiting.splice(0)) job.reject(new Error('The calculator is closed.'))
    finish((job) => job.reject(new Error('The calculator is closed.')))
    await ended
  }

  return { calculate, close }
}

function settle(job: Job, { result, error }: Answer): void {
  if (result !== undefined) job.resolve(result)
  else job.reject(new Error(`The expression can not be calculated: ${error?.replace(/\.$/, '')}.`))
}

function toReadable(error: Error | undefined): Error {
  if (error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') return new Error('The expression needs too much memory.')
  return new Error('The calculator stopped unexpectedly.', { cause: error })
}
