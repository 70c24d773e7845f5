import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { channelFiles, endProcess, setBusy, startLimited } from '../../processes/limited-process.ts'
import type { MessageLimits } from '../../processes/message-frames.ts'
import { isRan, messageLimits, type AnswerLimits } from './check-report.ts'
import type { Order, Ran, Report, RunOrder } from './messages.ts'

/** Python in a separate process, which keeps the state of executed code. The process serves a single conversation and is never reused for another. */
export interface Interpreter {
  readonly isAlive: boolean
  /** Resolves when the process has exited for any reason. */
  readonly gone: Promise<void>
  /** Runs code, a single run at a time. The code is interrupted after `limitMs` or by the signal. Rejects with `InterpreterLost`. */
  run(order: Omit<RunOrder, 'number'>, options: { limitMs: number; signal: AbortSignal }): Promise<Ran>
  end(): Promise<void>
}

/** The process has ended, and its variables and files are lost. */
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
  /** True to use the isolation of the operating system. */
  isIsolated: boolean
  /** Size limits of answers. */
  answers: AnswerLimits
}

/** Milliseconds after an interrupt until the process is killed. */
const graceMs = 700
const startMs = 30_000
/** Memory of Node, its threads and the code of Pyodide. */
const baseMb = 128
/**
 * Added to the system's memory limit, which only guards against code evading the exact limit of the process itself. V8 reserves 512 MB of writable
 * memory for compiled code in each of two threads and never uses most of it. The rest is for files in messages.
 */
const reservedMb = 1_700

/** Makes a snapshot of the memory of Python right after its start. */
export async function makeSnapshot(options: InterpreterOptions): Promise<Uint8Array> {
  // The snapshot is an image of Python's memory.
  const child = startPython(options, { structure: 64 * 1024, bytes: options.memoryMb * 1024 * 1024 })
  try {
    const report = await firstReport(child)
    if (report.type !== 'snapshot') throw new InterpreterLost('crash')
    return report.bytes
  } finally {
    await endProcess(child)
  }
}

/** Resolves when Python is ready. */
export async function startInterpreter(options: InterpreterOptions, snapshot: string): Promise<Interpreter> {
  const child = startPython(options, messageLimits(options.answers), snapshot)
  const report = await firstReport(child)
  if (report.type === 'ready') return toInterpreter(child)
  await endProcess(child)
  throw new InterpreterLost('crash')
}

function startPython({ memoryMb, isIsolated }: InterpreterOptions, messages: MessageLimits, snapshot?: string): ChildProcess {
  // Links are resolved, because Node permissions apply to real paths.
  const pyodide = realpathSync(fileURLToPath(import.meta.resolve('pyodide')))
  const sourceFolder = realpathSync(import.meta.dirname)
  const descriptor = snapshot === undefined ? undefined : openSync(snapshot, 'r')
  try {
    return startLimited(new URL('./child', import.meta.url), {
      limits: { dataKb: (memoryMb + reservedMb) * 1024, heapMb: Math.floor(memoryMb / 4) },
      messages,
      nodeFlags: [
        ...['--permission', '--allow-worker', `--allow-fs-read=${sourceFolder}/*`, `--allow-fs-read=${path.dirname(pyodide)}/*`],
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
    const reportCrash = () => done({ type: 'lost', reason: 'crash' })
    const timer = setTimeout(reportCrash, startMs).unref()
    const done = (report: Report) => {
      clearTimeout(timer)
      child.off('message', done)
      resolve(report)
    }
    setBusy(child, true)
    child.once('message', done)
    child.on('error', reportCrash)
    child.once('exit', reportCrash)
  })
}

interface PendingRun {
  limits: AnswerLimits
  resolve(ran: Ran): void
  reject(error: unknown): void
}

function toInterpreter(child: ChildProcess): Interpreter {
  let pending: PendingRun | undefined
  let number = 0
  let isAlive = true
  let reason: InterpreterLost['reason'] = 'crash'
  const { promise: gone, resolve: resolveGone } = Promise.withResolvers<void>()

  function onExit(): void {
    if (!isAlive) return
    isAlive = false
    pending?.reject(new InterpreterLost(reason))
    resolveGone()
  }

  child.on('message', (report: Report) => {
    if (report.type === 'ran' && pending) {
      if (isRan(report, pending.limits)) pending.resolve(report)
      else void endProcess(child)
    }
    if (report.type === 'lost') reason = report.reason
  })
  child.on('error', () => void endProcess(child))
  child.on('exit', onExit)
  setBusy(child, false)

  function kill(): Promise<void> {
    if (isAlive && pending) reason = 'stopped'
    return endProcess(child)
  }

  async function run(order: Omit<RunOrder, 'number'>, { limitMs, signal }: Parameters<Interpreter['run']>[1]): Promise<Ran> {
    if (!isAlive) throw new InterpreterLost('crash')
    const current = ++number
    let killTimer: NodeJS.Timeout | undefined
    const interrupt = () => {
      if (killTimer) return
      if (child.connected) child.send({ type: 'interrupt', number: current } satisfies Order, () => {})
      killTimer = setTimeout(() => void kill(), graceMs)
    }
    const limit = setTimeout(interrupt, limitMs)
    signal.addEventListener('abort', interrupt, { once: true })
    setBusy(child, true)
    try {
      return await new Promise<Ran>((resolve, reject) => {
        pending = { limits: order, resolve, reject }
        child.send({ type: 'run', ...order, number: current } satisfies Order, (error) => error && void endProcess(child))
      })
    } finally {
      pending = undefined
      clearTimeout(limit)
      clearTimeout(killTimer)
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
