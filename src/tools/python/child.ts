import path from 'node:path'
import process from 'node:process'
import { Worker } from 'node:worker_threads'
import { sendToService, serveQuestions, type OpenQuestion } from '../../processes/serve-questions.ts'
import type { Ran, Report, RunOrder, ThreadData } from './messages.ts'

/**
 * Process for Python. Arguments: `<URL of Pyodide> <bytes of memory> [<descriptor of the snapshot>]`. Without a snapshot the process makes a
 * snapshot, and is ready with its bytes.
 */

const repeatMs = 100

const [pyodide = '', bytes, snapshot] = process.argv.slice(2)
const interrupts = new SharedArrayBuffer(4)
const flag = new Int32Array(interrupts)
let finish: (ran: Ran) => void = () => {}

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

thread.on('message', (report: Report) => {
  switch (report.type) {
    case 'ready':
      return serveQuestions(run, { onDisconnect: end })
    case 'snapshot':
      return sendToService({ ready: report.bytes })
    case 'ran':
      return finish(report)
    case 'lost':
      return sendToService({ fault: 'crash' }, end)
  }
})
thread.on('error', (error: NodeJS.ErrnoException) => {
  const isMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY' || error instanceof RangeError
  sendToService({ fault: isMemory ? 'memory' : 'crash' }, end)
})

function run(order: RunOrder, { id, signal }: OpenQuestion): Promise<Ran> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined
    const interrupt = () => Atomics.store(flag, 0, 2)
    signal.addEventListener('abort', () => {
      interrupt()
      // Repeated, because code may catch the first interrupt.
      timer = setInterval(interrupt, repeatMs)
    })
    finish = (ran) => {
      clearInterval(timer)
      resolve(ran)
    }
    thread.postMessage({ order, number: id })
  })
}

/** `SIGKILL` ends the process immediately, whatever the thread is doing. */
function end(): void {
  process.kill(process.pid, 'SIGKILL')
}
