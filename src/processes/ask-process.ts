import { endProcess, setBusy, startLimited } from './limited-process.ts'
import { FrameFault, type MessageLimits } from './message-frames.ts'

export interface AskLimits {
  /** Milliseconds that the process may work. The clock is paused while `serve` runs. */
  maxMs: number
  heapMb: number
  signal?: AbortSignal | undefined
  /** Size limits for each message from the process. */
  messages?: Partial<MessageLimits> | undefined
  /** Answers a request of the process (a message `{ request }`) with a message `{ response }`. A rejection rejects `askProcess`. */
  serve?(request: unknown): Promise<unknown>
}

/** The system does not start a process. */
export class StartFault extends Error {}

/** CPU seconds over all threads, including the garbage collector. */
const cpuSeconds = 180

/**
 * Starts a module in a new process, sends one question and resolves to its answer. Work that takes seconds or gigabytes does not
 * block the service, can be cancelled, and fails alone when it runs out of memory. Rejects with the reason, phrased as the end of a sentence.
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
  child.on('error', (cause) => reject(cause instanceof FrameFault ? cause : new StartFault('its parser cannot be started', { cause })))
  child.once('exit', (_code, signal) => reject(new Error(signal ? 'it needs too much memory' : 'its parser stopped')))
  // `exit` reports a message that cannot be sent, with a better reason.
  child.send(question, () => {})
  try {
    return await promise
  } finally {
    clock.pause()
    signal?.removeEventListener('abort', abort)
    await endProcess(child)
  }
}

/** Calls `expire` after `maxMs`, not counting pauses. */
function startClock(maxMs: number, expire: () => void) {
  let remainingMs = maxMs
  let resumedAt = performance.now()
  let timer = setTimeout(expire, remainingMs).unref()
  return {
    pause() {
      clearTimeout(timer)
      remainingMs -= performance.now() - resumedAt
    },
    resume() {
      resumedAt = performance.now()
      timer = setTimeout(expire, Math.max(0, remainingMs)).unref()
    },
  }
}
