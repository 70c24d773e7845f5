import type { ChildProcess } from 'node:child_process'
import { endProcess, setBusy, startLimited, type ProcessOptions } from './limited-process.ts'
import { FrameFault } from './message-frames.ts'
import type { FromWorker, ToWorker } from './serve-questions.ts'

export interface WorkerOptions extends ProcessOptions {
  /** URL of the program, without the extension. The program calls `serveQuestions`. */
  module: URL
  /** Milliseconds from the start of the process until the process must be ready. Default: no limit. */
  readyMs?: number
  /** Receives what the process reports outside of a question. */
  onNotice?(notice: unknown): unknown
}

export interface AskOptions {
  /** Cancels the question. */
  signal?: AbortSignal | undefined
  /** Milliseconds that the process may work on the question. The clock is paused while `serve` runs. */
  limitMs?: number
  /** Milliseconds between the cancellation of a question and the end of the process. Default: the process ends at once. */
  graceMs?: number
  /** Answers a request that the process makes while answering the question. A rejection rejects the question. */
  serve?(request: unknown): unknown
  /** A process whose answer is not valid no longer runs its original code, and is ended. */
  isValid?(answer: unknown): boolean
}

export type LossReason = 'start' | 'frame' | 'memory' | 'exit' | 'fault' | 'stopped' | 'closed'

/** The process has ended or is being ended, with all of its questions. The message is the end of a sentence about the process. */
export class WorkerLost extends Error {
  readonly reason: LossReason

  constructor(reason: LossReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'WorkerLost'
    this.reason = reason
  }
}

interface PendingQuestion<A> extends AskOptions {
  clock: Clock
  /** The process has confirmed the cancellation, so its thread is not stuck. */
  isCancelConfirmed: boolean
  graceTimer?: NodeJS.Timeout
  resolve(answer: A): void
  reject(error: unknown): void
}

/** Milliseconds after the exit of the process in which a last message may still arrive. */
const lastMessageMs = 1000

/**
 * A process that answers questions, any number at a time. Work that takes seconds or gigabytes does not block the service, can be cancelled,
 * and fails alone when memory runs out. `R` is the value that the process reports when the process is ready.
 */
export class Worker<Q, A, R = true> {
  /** Rejects with `WorkerLost`. */
  readonly ready: Promise<R>
  /** Resolves to the reason when the process has ended or is being ended. */
  readonly gone: Promise<WorkerLost>
  private readonly options: WorkerOptions
  private readonly child: ChildProcess
  private readonly starting = Promise.withResolvers<R>()
  private readonly going = Promise.withResolvers<WorkerLost>()
  private readonly readyTimer: NodeJS.Timeout | undefined
  private readonly pending = new Map<number, PendingQuestion<A>>()
  private state: 'starting' | 'ready' | 'exited' | 'gone' = 'starting'
  private isBusy = true
  private isRetired = false
  private fault: string | undefined
  private lastId = 0

  constructor(options: WorkerOptions) {
    this.options = options
    this.ready = this.starting.promise
    this.gone = this.going.promise
    // A process may end before anybody awaits `ready`.
    this.ready.catch(() => undefined)
    this.child = startLimited(options.module, options)
    setBusy(this.child, true)
    const { readyMs } = options
    const expire = () => void this.end('stopped', `it did not finish loading within ${(readyMs ?? 0) / 1000} s`)
    if (readyMs !== undefined) this.readyTimer = setTimeout(expire, readyMs).unref()
    this.listen()
  }

  /** True while the process takes questions. */
  get isAlive(): boolean {
    return !this.isRetired && (this.state === 'starting' || this.state === 'ready')
  }

  /** The output of third-party code. */
  get output(): Pick<ChildProcess, 'stdout' | 'stderr'> {
    return this.child
  }

  /** Rejects with `WorkerLost`, with the reason of the signal, or with a rejection of `serve`. */
  ask(question: Q, options: AskOptions = {}): Promise<A> {
    const { signal, limitMs } = options
    return new Promise<A>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      if (this.state === 'exited' || this.state === 'gone') return reject(new WorkerLost('exit', 'it has ended'))
      const id = ++this.lastId
      this.send({ id, question })
      const abort = () => this.stop(id, signal?.reason)
      const clock = startClock(limitMs, () => this.stop(id, new WorkerLost('stopped', `it took longer than ${(limitMs ?? 0) / 1000} s`)))
      const settling =
        <T>(settle: (value: T) => void) =>
        (value: T) => {
          clock.pause()
          signal?.removeEventListener('abort', abort)
          settle(value)
        }
      signal?.addEventListener('abort', abort, { once: true })
      this.pending.set(id, { ...options, clock, isCancelConfirmed: false, resolve: settling(resolve), reject: settling(reject) })
      this.rest()
    })
  }

  /** Lets open questions finish and ends the process with the last one. */
  retire(): void {
    this.isRetired = true
    this.rest()
  }

  /** Ends the process at once and resolves when the process has exited. Open questions are rejected with the given reason. */
  end(reason: LossReason = 'closed', message = 'it was closed'): Promise<void> {
    const ended = endProcess(this.child)
    this.lose(new WorkerLost(reason, message))
    return ended
  }

  private listen(): void {
    const { child } = this
    child.on('message', (message) => this.receive(message as FromWorker<A, R>))
    child.on('error', (cause) => {
      const isFrame = cause instanceof FrameFault
      this.lose(new WorkerLost(isFrame ? 'frame' : 'start', isFrame ? cause.message : `it cannot be started: ${cause.message}`, { cause }))
    })
    child.on('exit', (code, signal) => {
      if (this.state !== 'gone') this.state = 'exited'
      const lose = () => this.lose(this.lossOf(code, signal))
      // A message with the reason may still be on its way.
      if (!child.connected) return lose()
      child.once('disconnect', lose)
      setTimeout(lose, lastMessageMs).unref()
    })
  }

  private lossOf(code: number | null, signal: string | null): WorkerLost {
    if (this.fault !== undefined) return new WorkerLost('fault', this.fault)
    return signal ? new WorkerLost('memory', 'it needed too much memory') : new WorkerLost('exit', `it ended itself with code ${code}`)
  }

  private send(message: ToWorker<Q>): void {
    // The `exit` of the process reports a message that cannot be sent.
    if (this.child.connected) this.child.send(message, () => undefined)
  }

  private receive(message: FromWorker<A, R>): void {
    if ('ready' in message && this.state === 'starting') return this.becomeReady(message.ready)
    if ('notice' in message && this.options.onNotice) return void this.options.onNotice(message.notice)
    if ('fault' in message) return void (this.fault ??= message.fault)
    const question = 'id' in message ? this.pending.get(message.id) : undefined
    if (question && 'answer' in message && (question.isValid?.(message.answer) ?? true)) {
      return this.settle(message.id, () => question.resolve(message.answer))
    }
    if (question && 'cancelled' in message) return void (question.isCancelConfirmed = true)
    if (question?.serve && 'request' in message) return void this.serve(question, message)
    // After an unexpected message the process no longer runs its original code. Third-party code sends messages of its own, which are ignored.
    if (!this.options.isForeign) void this.end('exit', 'it sent an unexpected message')
  }

  private becomeReady(value: R): void {
    clearTimeout(this.readyTimer)
    this.state = 'ready'
    this.rest()
    this.starting.resolve(value)
  }

  private async serve(
    question: PendingQuestion<A>,
    { id, request, reply }: { id: number; request: unknown; reply?: number },
  ): Promise<void> {
    question.clock.pause()
    try {
      const response = await question.serve?.(request)
      if (reply !== undefined) this.send({ reply, response })
      if (this.pending.has(id)) question.clock.resume()
    } catch (error) {
      this.settle(id, () => question.reject(error))
    }
  }

  /**
   * Cancels a question. A question that does not stop in time costs its process: at once where the process did not confirm the cancellation and
   * must be stuck, otherwise when the other questions are answered.
   */
  private stop(id: number, reason: unknown): void {
    const question = this.pending.get(id)
    if (!question || question.graceTimer) return
    const { graceMs } = question
    if (graceMs === undefined) {
      this.settle(id, () => question.reject(reason))
      return void this.end('stopped', 'another question took too long')
    }
    this.send({ id, cancel: true })
    question.graceTimer = setTimeout(() => {
      if (!question.isCancelConfirmed) return void this.end('stopped', 'a question did not stop')
      this.isRetired = true
      this.settle(id, () => question.reject(new Error('The call did not stop when its time was up.')))
    }, graceMs)
  }

  private settle(id: number, settle: () => void): void {
    const question = this.pending.get(id)
    if (!question) return
    this.pending.delete(id)
    clearTimeout(question.graceTimer)
    settle()
    this.rest()
  }

  /** A process without questions does not keep the service from exiting. A retired process without questions is ended. */
  private rest(): void {
    if (this.state === 'exited' || this.state === 'gone') return
    if (this.isRetired && this.pending.size === 0) return void this.end()
    const isBusy = this.state === 'starting' || this.pending.size > 0
    if (isBusy === this.isBusy) return
    this.isBusy = isBusy
    setBusy(this.child, isBusy)
  }

  private lose(loss: WorkerLost): void {
    if (this.state === 'gone') return
    this.state = 'gone'
    clearTimeout(this.readyTimer)
    this.starting.reject(loss)
    for (const [id, question] of this.pending) this.settle(id, () => question.reject(loss))
    this.going.resolve(loss)
  }
}

/** Calls `expire` after `maxMs`, not counting pauses. */
function startClock(maxMs: number | undefined, expire: () => void) {
  if (maxMs === undefined) return { pause() {}, resume() {} }
  let remainingMs = maxMs
  let resumedAt = performance.now()
  let timer = setTimeout(expire, remainingMs).unref()
  return {
    pause(): void {
      clearTimeout(timer)
      remainingMs -= performance.now() - resumedAt
    },
    resume(): void {
      resumedAt = performance.now()
      timer = setTimeout(expire, Math.max(0, remainingMs)).unref()
    },
  }
}

type Clock = ReturnType<typeof startClock>

/** Starts a worker and resolves when the process is ready. Rejects with `WorkerLost`, also when `closing` is aborted before. */
export async function startWorker<Q, A, R = true>(options: WorkerOptions, closing: AbortSignal): Promise<Worker<Q, A, R>> {
  const worker = new Worker<Q, A, R>(options)
  const end = () => void worker.end()
  closing.addEventListener('abort', end, { once: true })
  await worker.ready.finally(() => closing.removeEventListener('abort', end))
  return worker
}
