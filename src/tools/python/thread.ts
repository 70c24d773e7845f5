import { Buffer } from 'node:buffer'
import fs from 'node:fs'
import v8 from 'node:v8'
import vm from 'node:vm'
import { parentPort, workerData } from 'node:worker_threads'
import type { PyodideAPI } from 'pyodide'
import { createRunFolder, limitFiles, type MemoryFileSystem, type MemoryStore } from './memory-files.ts'
import { maxOutcomeCharacters, maxOutputBytes, type Report, type ThreadData, type ThreadOrder } from './messages.ts'
import { runnerSource, startOptions } from './runner-source.ts'
import { closeSandbox } from './sandbox.ts'

/** Runs Python in a worker thread, so that the main thread of the process can still receive interrupts. */

interface Internals {
  FS: MemoryFileSystem
  MEMFS: MemoryStore
  memory: { buffer: ArrayBuffer; grow(pages: number): number }
  API: { config: { _loadSnapshot?: unknown } }
}

type Run = (code: string, number: number, results: string | undefined, limit: number) => string

const pageBytes = 65_536
const data = workerData as ThreadData
const port = parentPort as NonNullable<typeof parentPort>
const interrupts = new Int32Array(data.interrupts)
const makesSnapshot = data.snapshot === undefined
const shut = closeSandbox()

function sendReport(report: Report): void {
  port.postMessage(report)
}

const loading = { ...startOptions, jsglobals: {}, stdin: () => null }

async function load(): Promise<PyodideAPI> {
  const { loadPyodide } = (await import(data.pyodide)) as typeof import('pyodide')
  if (makesSnapshot) return loadPyodide({ ...loading, _makeSnapshot: true })
  return loadPyodide({ ...loading, _loadSnapshot: fs.readFileSync(data.snapshot ?? 0) })
}

/** Frees mainly the bytes of the snapshot, since a spare process may wait for a long time. */
function collectGarbage(): void {
  v8.setFlagsFromString('--expose-gc')
  vm.runInNewContext('gc')()
}

function makeRunner(python: PyodideAPI): void {
  const module = python.toPy({ __name__: '_runner' })
  python.runPython(runnerSource, { globals: module, filename: '<runner>' })
  python.globals.set('_runner', module)
  module.destroy()
}

/** Adds a device for waiting without CPU time: Python writes the seconds to the device. */
function addWaitDevice(files: MemoryFileSystem): void {
  const idle = new Int32Array(new SharedArrayBuffer(4))
  const device = files.makedev(64, 0)
  files.registerDevice(device, {
    write(_stream: unknown, buffer: Uint8Array, offset: number, length: number) {
      const seconds = Number(Buffer.from(buffer.subarray(offset, offset + length)).toString())
      if (seconds > 0) Atomics.wait(idle, 0, 0, Math.min(seconds, 0.1) * 1000)
      return length
    },
  })
  files.mkdev('/dev/wait', 0o222, device)
}

const python = await load()
if (makesSnapshot) {
  makeRunner(python)
  sendReport({ type: 'snapshot', bytes: python.makeMemorySnapshot() })
} else serve()

function serve(): void {
  const { FS: system, MEMFS: store, memory, API: internals } = (python as unknown as { _module: Internals })._module
  const files = limitFiles(system, store, (bytes) => bytes + memory.buffer.byteLength <= data.bytes)
  const grow = memory.grow.bind(memory)
  Object.defineProperty(memory, 'grow', {
    value(pages: number) {
      if (memory.buffer.byteLength + pages * pageBytes + files.used() > data.bytes) throw new RangeError('no more memory')
      return grow(pages)
    },
  })
  addWaitDevice(system)
  const runFolder = createRunFolder(system)
  const stdout = captureOutput(maxOutputBytes)
  const stderr = captureOutput(maxOutputBytes)
  python.setStdout({ write: stdout.write, isatty: false })
  python.setStderr({ write: stderr.write, isatty: false })
  const runner = python.globals.get('_runner')
  runner.get('begin')()
  const run: Run = runner.get('run')
  python.globals.delete('_runner')
  python.setInterruptBuffer(interrupts)
  delete internals.config._loadSnapshot
  collectGarbage()
  shut()

  function execute({ order, number }: ThreadOrder): Report {
    const rejectedFiles = runFolder.addFiles(order.inputFiles)
    const before = runFolder.state()
    Atomics.store(interrupts, 0, 0)
    const outcome = run(order.code, number, order.results, order.maxCharacters)
    // The service would end this process because of a larger outcome.
    if (outcome.length > maxOutcomeCharacters(order.maxCharacters)) throw new Error('The outcome is too large.')
    const written = runFolder.writtenSince(before, order.written)
    return { type: 'ran', outcome, stdout: stdout.take(), stderr: stderr.take(), rejectedFiles, ...written }
  }

  port.on('message', (message: ThreadOrder) => {
    try {
      sendReport(execute(message))
    } catch {
      // An exception not caught by Python leaves Python unusable: broken memory, or a failed call into JavaScript.
      sendReport({ type: 'lost' })
    }
  })
  sendReport({ type: 'ready' })
}

/** Captures up to about `limit` bytes. */
export function captureOutput(limit: number) {
  const headRoom = Math.ceil((limit * 3) / 4)
  const tailRoom = limit - headRoom
  let head: Buffer[] = []
  let headSize = 0
  let tail = Buffer.alloc(0)
  let total = 0

  return {
    write(bytes: Uint8Array): number {
      total += bytes.length
      const first = bytes.subarray(0, headRoom - headSize)
      if (first.length > 0) head.push(Buffer.from(first))
      headSize += first.length
      const rest = bytes.subarray(first.length)
      if (rest.length > 0) tail = Buffer.concat([tail, rest.subarray(-tailRoom)]).subarray(-tailRoom)
      return bytes.length
    },
    /** Returns the captured text with a note about omitted bytes, and starts again with empty buffers. */
    take(): string {
      const start = Buffer.concat(head)
      const omitted = total - start.length - tail.length
      // A split character is decoded as U+FFFD.
      const text =
        omitted > 0 ? `${start.toString()}\n[${omitted} bytes left out]\n${tail.toString()}` : Buffer.concat([start, tail]).toString()
      head = []
      headSize = total = 0
      tail = Buffer.alloc(0)
      return text
    },
  }
}
