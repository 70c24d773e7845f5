import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { channelFiles, endProcess, setBusy, startLimited } from '../../processes/limited-process.ts'
import type { MessageLimits } from '../../processes/message-frames.ts'
import { isRan, messageLimits, type AnswerLimits } from './check-report.ts'
import type { Order, Ran, Report, RunOrder } from './messages.ts'

/** Python in a process of its own, which keeps what code leaves behind. It works for one conversation and is never given to another. */
export interface Interpreter {
  readonly isAlive: boolean
  /** Resolves when its process is gone, however it ended. */
  readonly gone: Promise<void>
  /** Runs code; an interrupt ends what takes longer than `limitMs`, or what the signal stops. Rejects with `InterpreterLost`. One at a time. */
  run(order: Omit<RunOrder, 'number'>, options: { limitMs: number; signal: AbortSignal }): Promise<Ran>
  end(): Promise<void>
}

/** The process has ended, and what it knew with it. */
export class InterpreterLost extends Error {
  readonly reason: 'memory' | 'crash' | 'stopped'

  constructor(reason: InterpreterLost['reason']) {
    super(`Python has ended: ${reason}.`)
    this.name = 'InterpreterLost'
    this.reason = reason
  }
}

export interface InterpreterOptions {
  memoryMb: number
  /** Whether to use what the system has to keep a process apart. */
  isIsolated: boolean
  /** The largest answers that it may give. */
  answers: AnswerLimits
}

/** Without an answer to an interrupt for so long, it is killed. */
const graceMs = 700
const startMs = 30_000
/** Of Node itself, its threads and Pyodide's program. */
const baseMb = 128
/**
 * The limit that the process keeps itself is exact; the system's is for what gets around it. V8 keeps room for compiled code, 512 MB for each
 * of two threads: it counts as memory that may be written to, and is never used. The rest is for files on their way in and out.
 */
const reservedMb = 1_700

/** Makes a snapshot of Python as it is when it has started. */
export async function makeSnapshot(options: InterpreterOptions): Promise<Uint8Array> {
  // The snapshot is a picture of Python's memory.
  const child = startPython(options, { structure: 64 * 1024, bytes: options.memoryMb * 1024 * 1024 })
  try {
    const report = await firstReport(child)
    if (report.type !== 'snapshot') throw new InterpreterLost('crash')
    return report.bytes
  } finally {
    await endProcess(child)
  }
}

/** Resolves when it can be used. */
export async function startInterpreter(options: InterpreterOptions, snapshot: string): Promise<Interpreter> {
  const child = startPython(options, messageLimits(options.answers), snapshot)
  const report = await firstReport(child)
  if (report.type === 'ready') return toInterpreter(child)
  await endProcess(child)
  throw new InterpreterLost('crash')
}

function startPython({ memoryMb, isIsolated }: InterpreterOptions, messages: MessageLimits, snapshot?: string): ChildProcess {
  // Links are resolved: the permissions are those of real paths.
  const pyodide = realpathSync(fileURLToPath(import.meta.resolve('pyodide')))
  const own = realpathSync(import.meta.dirname)
  const descriptor = snapshot === undefined ? undefined : openSync(snapshot, 'r')
  try {
    return startLimited(new URL('./child', import.meta.url), {
      limits: { dataKb: (memoryMb + reservedMb) * 1024, heapMb: Math.floor(memoryMb / 4) },
      messages,
      nodeFlags: [
        ...['--permission', '--allow-worker', `--allow-fs-read=${own}/*`, `--allow-fs-read=${path.dirname(pyodide)}/*`],
        ...channelFiles.map((file) => `--allow-fs-read=${file}`),
        ...['--disallow-code-generation-from-strings', '--max-semi-space-size=2', '--no-warnings'],
      ],
      args: [pathToFileURL(pyodide).href, String((memoryMb - baseMb) * 1024 * 1024), ...(descriptor === undefined ? [] : ['4'])],
      ...(descriptor !== undefined && { descriptor }),
      isIsolated,
    })
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

function firstReport(child: ChildProcess): Promise<Report> {
  return new Promise((resolve) => {
    const lost = () => done({ type: 'lost', reason: 'crash' })
    const timer = setTimeout(lost, startMs).unref()
    const done = (report: Report) => {
      clearTimeout(timer)
      child.off('message', done)
      resolve(report)
    }
    setBusy(child, true)
    child.once('message', done)
    child.on('error', lost)
    child.once('exit', lost)
  })
}

interface Running {
  limits: AnswerLimits
  resolve(ran: Ran): void
  reject(error: unknown): void
}

function toInterpreter(child: ChildProcess): Interpreter {
  let running: Running | undefined
  let number = 0
  let isAlive = true
  let reason: InterpreterLost['reason'] = 'crash'
  const { promise: gone, resolve: tellGone } = Promise.withResolvers<void>()

  function lose(): void {
    if (!isAlive) return
    isAlive = false
    running?.reject(new InterpreterLost(reason))
    tellGone()
  }

  child.on('message', (report: Report) => {
    if (report.type === 'ran' && running) {
      if (isRan(report, running.limits)) running.resolve(report)
      else void endProcess(child)
    }
    if (report.type === 'lost') reason = report.reason
  })
  child.on('error', () => void endProcess(child))
  child.on('exit', lose)
  setBusy(child, false)

  function kill(): Promise<void> {
    if (isAlive && running) reason = 'stopped'
    return endProcess(child)
  }

  async function run(order: Omit<RunOrder, 'number'>, { limitMs, signal }: Parameters<Interpreter['run']>[1]): Promise<Ran> {
    if (!isAlive) throw new InterpreterLost('crash')
    const current = ++number
    let killing: NodeJS.Timeout | undefined
    const interrupt = () => {
      if (killing) return
      if (child.connected) child.send({ type: 'interrupt', number: current } satisfies Order, () => {})
      killing = setTimeout(() => void kill(), graceMs)
    }
    const limit = setTimeout(interrupt, limitMs)
    signal.addEventListener('abort', interrupt, { once: true })
    setBusy(child, true)
    try {
      return await new Promise<Ran>((resolve, reject) => {
        running = { limits: order, resolve, reject }
        child.send({ type: 'run', ...order, number: current } satisfies Order, (error) => error && void endProcess(child))
      })
    } finally {
      running = undefined
      clearTimeout(limit)
      clearTimeout(killing)
      signal.removeEventListener('abort', interrupt)
      setBusy(child, false)
    }
  }

  return {
    get isAlive() {
      return isAlive
    },
    gone,
    run,
    end: kill,
  }
}
