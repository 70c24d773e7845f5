import { endProcess, setBusy, startLimited } from './limited-process.ts'

export interface AskLimits {
  maxMs: number
  heapMb: number
  signal?: AbortSignal | undefined
}

/** Of all threads, the garbage collector's too. */
const cpuSeconds = 180

/**
 * Starts a module in a process of its own, tells it one thing, and resolves to its one answer. Whatever takes seconds or gigabytes
 * in there holds up nobody, can be stopped, and ends alone when memory does. Rejects with the reason, as the end of a sentence.
 */
export async function askProcess<Answer>(module: URL, question: object, { maxMs, heapMb, signal }: AskLimits): Promise<Answer> {
  signal?.throwIfAborted()
  const child = startLimited(module, { limits: { dataKb: 2_000_000, heapMb, cpuSeconds }, serialization: 'advanced' })
  setBusy(child, true)
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const timer = setTimeout(() => reject(new Error(`it took longer than ${maxMs / 1000} s`)), maxMs)
  const abort = () => reject(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  child.once('message', (answer: Answer) => resolve(answer))
  child.once('error', (cause) => reject(new Error('its parser can not be started', { cause })))
  child.once('exit', (_code, signal) => reject(new Error(signal ? 'it needs too much memory' : 'its parser stopped')))
  // What can not be sent is told by `exit`, which says more.
  child.send(question, () => {})
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
    await endProcess(child)
  }
}
