import type { Owner } from '../access/owner.ts'
import { Pool } from './pool.ts'
import type { ProcessLimits } from './limited-process.ts'
import { startWorker, Worker, WorkerLost, type AskOptions, type LossReason, type WorkerOptions } from './worker.ts'

export interface QuestionPoolOptions extends WorkerOptions {
  /** Time limit of a question in milliseconds, from the moment when a process starts to work on the question. */
  questionMs: number
  /** Number of questions after which a process is replaced, before the CPU time used reaches `cpuSeconds`. Default: never. */
  questionsPerProcess?: number
  /** Milliseconds without work after which a process is ended. */
  idleMs: number
  maxProcesses: number
  /** Sentences for the caller. */
  errorTexts: { timedOut: string; outOfMemory: string; crashed: string; closed: string }
}

export interface QuestionPool<Q, A> {
  /** Rejects with one of `errorTexts`, with `PoolBusy`, or with the signal's reason. The question never shares a process with another tenant. */
  ask(question: Q, signal: AbortSignal, caller: Owner): Promise<A>
  close(): Promise<void>
}

/**
 * Processes for the questions of tenants. Each process answers a single question at a time: killing the process is the only way to stop a runaway
 * question, and no other call ends with the question. The same holds when memory runs out.
 */
export function createQuestionPool<Q extends object, A extends object>(options: QuestionPoolOptions): QuestionPool<Q, A> {
  const { questionMs, questionsPerProcess = Infinity, idleMs, maxProcesses, errorTexts } = options
  const pool = new Pool<Worker<Q, A>>({
    start: (closing) => startWorker<Q, A>(options, closing),
    affinity: 'tenant',
    max: maxProcesses,
    callsPerProcess: questionsPerProcess,
    idleMs,
    closedText: errorTexts.closed,
  })

  function toError(error: unknown): unknown {
    if (!(error instanceof WorkerLost)) return error
    const { timedOut, outOfMemory, crashed, closed } = errorTexts
    const texts: Partial<Record<LossReason, string>> = { stopped: timedOut, memory: outOfMemory, closed }
    return new Error(texts[error.reason] ?? crashed, { cause: error })
  }

  return {
    async ask(question, signal, caller) {
      try {
        return await pool.use({ caller, signal }, ({ process }) => process.ask(question, { signal, limitMs: questionMs }))
      } catch (error) {
        throw toError(error)
      }
    },
    close: () => pool.close(),
  }
}

/** Limits of a process that parses a document; CPU seconds count all threads, including the garbage collector. */
export function parserLimits(heapMb: number): ProcessLimits {
  return { dataKb: 2_000_000, heapMb, cpuSeconds: 180 }
}

/** Endings of a sentence about a parser that has no answer. */
const parserTexts: Partial<Record<LossReason, string>> = {
  start: 'its parser cannot be started',
  memory: 'it needs too much memory',
  exit: 'its parser stopped',
}

/**
 * Starts a process for a single question, such as a document to parse. Rejects with an `Error` whose message ends a sentence, which is a
 * `WorkerLost` if the process cannot be started, with the reason of the signal, or with a rejection of `serve`.
 */
export async function askOnce<A>(options: WorkerOptions, question: object, askOptions: AskOptions): Promise<A> {
  askOptions.signal?.throwIfAborted()
  const worker = new Worker<object, A>(options)
  try {
    return await worker.ask(question, askOptions)
  } catch (error) {
    if (!(error instanceof WorkerLost)) throw error
    const text = parserTexts[error.reason] ?? error.message
    throw error.reason === 'start' ? new WorkerLost('start', text, { cause: error }) : new Error(text, { cause: error })
  } finally {
    await worker.end()
  }
}
