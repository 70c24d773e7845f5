import path from 'node:path'
import process from 'node:process'
import { Worker } from 'node:worker_threads'
import type { Order, Report, ThreadData } from './messages.ts'

/** Process for Python. Arguments: `<URL of Pyodide> <bytes of memory> [<descriptor of the snapshot>]`. Without a snapshot the process makes a snapshot and exits. */

const repeatMs = 100

const [pyodide = '', bytes, snapshot] = process.argv.slice(2)
const interrupts = new SharedArrayBuffer(4)
const flag = new Int32Array(interrupts)
let interruptTimer: NodeJS.Timeout | undefined
let currentRun: number | undefined

const workerData: ThreadData = {
  pyodide,
  interrupts,
  bytes: Number(bytes),
  ...(snapshot !== undefined && { snapshot: Number(snapshot) }),
}
const thread = new Worker(new URL(`./thread${path.extname(import.meta.filename)}`, import.meta.url), {
  workerData,
  env: {},
  // Python limits its call depth by its own stack, which must be smaller than the stack of the thread.
  resourceLimits: { stackSizeMb: 32 },
})

// `SIGKILL` ends the process immediately, whatever the thread is doing.
const end = () => process.kill(process.pid, 'SIGKILL')

function sendReport(report: Report): void {
  process.send?.(report, undefined, undefined, report.type === 'ran' || report.type === 'ready' ? undefined : end)
}

thread.on('message', (report: Report) => {
  currentRun = undefined
  clearInterval(interruptTimer)
  sendReport(report)
})
thread.on('error', (error: NodeJS.ErrnoException) => {
  sendReport({ type: 'lost', reason: error.code === 'ERR_WORKER_OUT_OF_MEMORY' || error instanceof RangeError ? 'memory' : 'crash' })
})
process.on('disconnect', end)
process.on('message', (order: Order) => {
  if (order.type === 'run') {
    currentRun = order.number
    return thread.postMessage(order)
  }
  if (order.number !== currentRun) return
  clearInterval(interruptTimer)
  // Repeated, because code may catch the first interrupt.
  const interrupt = () => Atomics.store(flag, 0, 2)
  interrupt()
  interruptTimer = setInterval(interrupt, repeatMs)
})
