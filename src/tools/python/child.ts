import path from 'node:path'
import process from 'node:process'
import { Worker } from 'node:worker_threads'
import type { Order, Report, ThreadData } from './messages.ts'

/** A process for Python: `<URL of Pyodide> <bytes of memory> [<descriptor of the snapshot>]`. Without a snapshot it makes one and ends. */

const repeatMs = 100

const [pyodide = '', bytes, snapshot] = process.argv.slice(2)
const interrupts = new SharedArrayBuffer(4)
const flag = new Int32Array(interrupts)
let interrupting: NodeJS.Timeout | undefined
let running: number | undefined

const workerData: ThreadData = {
  pyodide,
  interrupts,
  bytes: Number(bytes),
  ...(snapshot !== undefined && { snapshot: Number(snapshot) }),
}
const thread = new Worker(new URL(`./thread${path.extname(import.meta.filename)}`, import.meta.url), {
  workerData,
  env: {},
  // Python counts how deep its calls are by its own stack, which must end before the thread's.
  resourceLimits: { stackSizeMb: 32 },
})

// Ended like this it ends at once, whatever the thread is in the middle of.
const end = () => process.kill(process.pid, 'SIGKILL')

function tell(report: Report): void {
  process.send?.(report, undefined, undefined, report.type === 'ran' || report.type === 'ready' ? undefined : end)
}

thread.on('message', (report: Report) => {
  running = undefined
  clearInterval(interrupting)
  tell(report)
})
thread.on('error', (error: NodeJS.ErrnoException) => {
  tell({ type: 'lost', reason: error.code === 'ERR_WORKER_OUT_OF_MEMORY' || error instanceof RangeError ? 'memory' : 'crash' })
})
process.on('disconnect', end)
process.on('message', (order: Order) => {
  if (order.type === 'run') {
    running = order.number
    return thread.postMessage(order)
  }
  if (order.number !== running) return
  clearInterval(interrupting)
  // What catches the first stops at the second.
  const interrupt = () => Atomics.store(flag, 0, 2)
  interrupt()
  interrupting = setInterval(interrupt, repeatMs)
})
