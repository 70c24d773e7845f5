import { Buffer } from 'node:buffer'
import fs from 'node:fs'
import v8 from 'node:v8'
import vm from 'node:vm'
import { parentPort, workerData } from 'node:worker_threads'
import type { PyodideAPI } from 'pyodide'
import { longestTold, maxPrinted } from './check-report.ts'
import { createRunFolder, limitFiles, type MemoryFileSystem, type MemoryStore } from './memory-files.ts'
import type { Report, RunOrder, ThreadData } from './messages.ts'
import { keepPrinted } from './printed.ts'
import { runnerSource, startOptions } from './runner-source.ts'
import { raiseWalls } from './walls.ts'

/** Python, in a thread: its process stays able to hear that it shall be stopped. */

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
const isMaker = data.snapshot === undefined
const shut = raiseWalls()

function tell(report: Report): void {
  port.postMessage(report)
}

const loading = { ...startOptions, jsglobals: {}, stdin: () => null }

async function load(): Promise<PyodideAPI> {
  const { loadPyodide } = (await import(data.pyodide)) as typeof import('pyodide')
  if (isMaker) return loadPyodide({ ...loading, _makeSnapshot: true })
  return loadPyodide({ ...loading, _loadSnapshot: fs.readFileSync(data.snapshot ?? 0) })
}

/** The bytes of the snapshot, mostly: a spare process may wait for long. */
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

/** Waiting that takes no processor time: Python writes the seconds to a device. */
function addWaiting(files: MemoryFileSystem): void {
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
if (isMaker) {
  makeRunner(python)
  tell({ type: 'snapshot', bytes: python.makeMemorySnapshot() })
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
  addWaiting(system)
  const runFolder = createRunFolder(system)
  const stdout = keepPrinted(maxPrinted)
  const stderr = keepPrinted(maxPrinted)
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

  function work(order: RunOrder): Report {
    const notGiven = runFolder.give(order.given)
    const before = runFolder.state()
    Atomics.store(interrupts, 0, 0)
    const told = run(order.code, order.number, order.results, order.maxCharacters)
    // The service would end this process for it.
    if (told.length > longestTold(order.maxCharacters)) throw new Error('It tells too much.')
    const written = runFolder.writtenSince(before, order.written)
    return { type: 'ran', told, stdout: stdout.take(), stderr: stderr.take(), notGiven, ...written }
  }

  port.on('message', (order: RunOrder) => {
    try {
      tell(work(order))
    } catch {
      // What Python does not catch itself ends it: a broken memory, a call out of it that failed.
      tell({ type: 'lost', reason: 'crash' })
    }
  })
  tell({ type: 'ready' })
}
