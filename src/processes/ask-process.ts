import { endProcess, setBusy, startLimited } from './limited-process.ts'
import { FrameFault, type MessageLimits } from './message-frames.ts'

export interface AskLimits {
  /** Time of the process itself: while `serve` works the clock stands still. */
  maxMs: number
  heapMb: number
  signal?: AbortSignal | undefined
  /** What one message of the process may have. */
  messages?: Partial<MessageLimits> | undefined
  /** Answers a request of the process, a message `{ request }`, by a message `{ response }`. A rejection ends the whole. */
  serve?(request: unknown): Promise<unknown>
}

/** Of all threads, the garbage collector's too. */
const cpuSeconds = 180

/**
 * Starts a module in a process of its own, sends one question, and resolves to the one answer. Work that takes seconds or gigabytes
 * in that process holds up nobody, can be stopped, and ends alone when memory does. Rejects with the reason, as the end of a sentence.
 */
export async function askProcess<Answer extends object>(module: URL, question: object, limits: AskLimits): Promise<Answer> {
  const { maxMs, heapMb, signal, messages, serve } = limits
  signal?.throwIfAborted()
  const child = startLimited(module, { limits: { dataKb: 2_000_000, heapMb, cpuSeconds }, messages })
  setBusy(child, true)
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const clock = startClock(maxMs, () => reject(new Error(`it took longer than ${maxMs / 1000} s`)))
  const abort = () => reject(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  child.on('message', (message: Answer | { request: unknown }) => {
    if (!serve || !('request' in message)) return resolve(message as Answer)
    clock.pause()
    serve(message.request).then((response) => {
      clock.resume()
      if (child.connected) child.send({ response }, () => {})
    }, reject)
  })
  child.on('error', (cause) => reject(cause instanceof FrameFault ? cause : new Error('its parser can not be started', { cause })))
  child.once('exit', (_code, signal) => reject(new Error(signal ? 'it needs too much memory' : 'its parser stopped')))
  // A message that cannot be sent is reported by `exit`, which says more.
  child.send(question, () => {})
  try {
    return await promise
  } finally {
    clock.pause()
    signal?.removeEventListener('abort', abort)
    await endProcess(child)
  }
}

/** Calls `expire` once `maxMs` have passed outside of pauses. */
function startClock(maxMs: number, expire: () => void) {
  let restMs = maxMs
  let since = performance.now()
  let timer = setTimeout(expire, restMs).unref()
  return {
    pause() {
      clearTimeout(timer)
      restMs -= performance.now() - since
    },
    resume() {
      since = performance.now()
      timer = setTimeout(expire, Math.max(0, restMs)).unref()
    },
  }
}
