import type { Agent } from '../../configuration/agent.ts'
import { EventLog } from '../log/event-log.ts'
import type { ChatRequest, Operation, RunKey } from '../run.ts'
import type { Turn } from '../run-store.ts'

/**
 * Why a run was stopped. `disconnected`: its client went away and did not come back; `orphaned`: so it was when its process died; `handed_over`: this
 * process ends, and another one goes on with the run; `superseded`: another one has it by now, or its session was deleted.
 */
export type StopCause = 'timeout' | 'cancelled' | 'disconnected' | 'orphaned' | 'handed_over' | 'superseded'

export interface LiveRunOptions {
  key: RunKey
  sessionId: string
  operation: Operation
  bodyHash: string
  request: ChatRequest
  agent: Agent
  onDisconnect: 'cancel' | 'continue'
  fence: number
  /** Default: 0. */
  ranMs?: number
  /** How often in a row it has lost its process. Default: 0. */
  losses?: number
  /** It goes on behind its interruption, in this place of readers' knowledge; absent: it begins, or a process lost it. */
  resumed?: { restoredAt: number | undefined }
}

/** A run that this process has: in line, or running. */
export class LiveRun {
  readonly key: RunKey
  readonly sessionId: string
  readonly operation: Operation
  readonly bodyHash: string
  readonly request: ChatRequest
  readonly agent: Agent
  readonly onDisconnect: 'cancel' | 'continue'
  readonly fence: number
  /** How long it ran before it was interrupted: while it waits for approval its clock stands. */
  readonly ranMs: number
  readonly losses: number
  readonly resumed: LiveRunOptions['resumed']
  readonly log = new EventLog()
  /** Resolves when it has its session, rejects when it never got it. */
  started: Promise<Turn> = never
  /** Resolves when its last event is in the log. */
  ended: Promise<void> = never
  /** Resolves when a first checkpoint was stored in this process. */
  readonly progressed: Promise<void>
  readonly markProgress: () => void
  /** Epoch milliseconds; set when it has its session. */
  startedAt: number | undefined
  /** Epoch milliseconds of its first text, in this process. */
  firstTextAt: number | undefined
  stopCause: StopCause | undefined
  /** Another process has it by now: until its readers here have what that one tells. */
  elsewhere: Promise<void> | undefined
  /** Its last reader has left. */
  onNoReaders: (() => void) | undefined
  /** Whether another process waits for its end. */
  isWatched = false
  private readonly controller = new AbortController()
  private readers = 0
  private grace: NodeJS.Timeout | undefined
  private onReader: (() => void) | undefined

  constructor(options: LiveRunOptions) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.progressed = promise
    this.markProgress = resolve
    this.key = options.key
    this.sessionId = options.sessionId
    this.operation = options.operation
    this.bodyHash = options.bodyHash
    this.request = options.request
    this.agent = options.agent
    this.onDisconnect = options.onDisconnect
    this.fence = options.fence
    this.ranMs = options.ranMs ?? 0
    this.losses = options.losses ?? 0
    this.resumed = options.resumed
  }

  /** Nobody waits for an async run. */
  get isAsync(): boolean {
    return this.operation === 'chain_async'
  }

  /** Milliseconds that it has run, without those in which it waited for its session or for approval. */
  elapsedMs(now: number): number {
    return this.ranMs + now - (this.startedAt ?? now)
  }

  /** The text of the human message. */
  get input(): string {
    return this.request.messages.at(-1)?.content ?? ''
  }

  /** Aborted when the run is to stop. */
  get signal(): AbortSignal {
    return this.controller.signal
  }

  private get graceMs(): number {
    return this.agent.config.limits.reconnect_grace * 1000
  }

  get hasReaders(): boolean {
    return this.readers > 0
  }

  stop(cause: StopCause): void {
    if (this.stopCause || this.log.ended) return
    this.stopCause = cause
    this.controller.abort()
  }

  /** Somebody waits for the run; the returned function says that they left. */
  attach(): () => void {
    this.readers++
    clearTimeout(this.grace)
    this.onReader?.()
    let isAttached = true
    return () => {
      if (!isAttached) return
      isAttached = false
      this.readers--
      if (this.readers === 0) this.onNoReaders?.()
      if (this.readers === 0 && this.onDisconnect === 'cancel' && !this.log.ended) this.startGrace()
    }
  }

  /** Whether somebody waits for the run, or comes within the grace. */
  async waitForReader(): Promise<boolean> {
    if (this.readers > 0) return true
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.graceMs)
      timer.unref()
      this.onReader = () => {
        clearTimeout(timer)
        resolve()
      }
      this.signal.addEventListener('abort', this.onReader)
    })
    if (this.onReader) this.signal.removeEventListener('abort', this.onReader)
    this.onReader = undefined
    return this.readers > 0
  }

  private startGrace(): void {
    this.grace = setTimeout(() => this.stop('disconnected'), this.graceMs)
    this.grace.unref()
  }
}

const never: Promise<never> = new Promise(() => {})
