import { closeSync, openSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { channelFiles } from '../../processes/limited-process.ts'
import type { MessageLimits } from '../../processes/message-frames.ts'
import type { PooledProcess } from '../../processes/pool.ts'
import { Worker } from '../../processes/worker.ts'
import { isRan, messageLimits, type AnswerLimits, type Ran, type RunOrder } from './messages.ts'
import { createSnapshotFile } from './snapshot.ts'

/** Python in a separate process, which keeps the state of executed code. The process serves a single conversation and is never reused for another. */
export interface Interpreter extends PooledProcess {
  /** Runs code, a single run at a time. The code is interrupted after `limitMs` or by the signal. Rejects with `WorkerLost`. */
  run(order: RunOrder, options: { limitMs: number; signal: AbortSignal }): Promise<Ran>
}

interface InterpreterOptions {
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

/** Returns a function which starts Python processes from a snapshot in `cacheDir`. The first start makes the snapshot. */
export function createStarter(memoryMb: number, cacheDir: string, answers: AnswerLimits): () => Promise<Interpreter> {
  let isIsolated = true
  const snapshot = createSnapshotFile(cacheDir, () => attempt((isIsolated) => makeSnapshot({ memoryMb, isIsolated, answers })))

  /** Falls back to a start without system isolation, for systems where isolation is allowed but no program runs in it. Stays isolated if both fail. */
  async function attempt<T>(work: (isIsolated: boolean) => Promise<T>): Promise<T> {
    try {
      return await work(isIsolated)
    } catch (error) {
      if (!isIsolated) throw error
      const result = await work(false)
      isIsolated = false
      return result
    }
  }

  return async () => {
    const file = await snapshot.path()
    try {
      return await startInterpreter({ memoryMb, isIsolated, answers }, file)
    } catch {
      await snapshot.discard()
      const freshFile = await snapshot.path()
      return attempt((isIsolated) => startInterpreter({ memoryMb, isIsolated, answers }, freshFile))
    }
  }
}

/** Makes a snapshot of the memory of Python right after its start. */
async function makeSnapshot(options: InterpreterOptions): Promise<Uint8Array> {
  // The snapshot is an image of Python's memory.
  const worker = startPython<Uint8Array>(options, { structure: 64 * 1024, bytes: options.memoryMb * 1024 * 1024 })
  try {
    return await worker.ready
  } finally {
    await worker.end()
  }
}

/** Resolves when Python is ready. */
async function startInterpreter(options: InterpreterOptions, snapshot: string): Promise<Interpreter> {
  const worker = startPython(options, messageLimits(options.answers), snapshot)
  await worker.ready
  return {
    get isAlive() {
      return worker.isAlive
    },
    gone: worker.gone,
    end: () => worker.end(),
    run: (order, limits) => worker.ask(order, { ...limits, graceMs, isValid: (answer) => isRan(answer, order) }),
  }
}

function startPython<R>(
  { memoryMb, isIsolated }: InterpreterOptions,
  messages: MessageLimits,
  snapshot?: string,
): Worker<RunOrder, Ran, R> {
  // Links are resolved, because Node permissions apply to real paths.
  const pyodide = realpathSync(fileURLToPath(import.meta.resolve('pyodide')))
  const sourceFolder = realpathSync(import.meta.dirname)
  const descriptor = snapshot === undefined ? undefined : openSync(snapshot, 'r')
  try {
    return new Worker({
      module: new URL('./child', import.meta.url),
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
      readyMs: startMs,
    })
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
