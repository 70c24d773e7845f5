import type { Logger } from 'pino'
import { PhaseTimes } from '../../concurrency/phase-times.ts'
import type { Inbox } from '../../agent/messages.ts'
import type { Meter } from '../../budgets/meter.ts'
import type { Agent } from '../../configuration/agent.ts'
import { EventLog } from '../log/event-log.ts'
import type { ChatRequest, Operation, RunKey } from '../run.ts'
import type { Turn, RunStore } from '../run-store.ts'
import { TraceRecorder } from '../trace/recorder.ts'
import type { HeldRecord } from '../trace/records.ts'
import { reachState } from '../../states.ts'
import { ServiceError } from '../../errors.ts'

/**
 * Why a run was stopped. `disconnected`: the client disconnected and did not reconnect within the grace. `orphaned`: the process of the run
 * died, and the client did not reconnect. `handed_over`: the local process ends, and another process resumes the run. `superseded`: another
 * process has taken over the run, or the session was deleted. `unstored`: the begin of the run did not become durable.
 */
export type StopCause = 'timeout' | 'cancelled' | 'disconnected' | 'orphaned' | 'handed_over' | 'superseded' | 'unstored'

/** The state that readers may know from earlier attempts. */
export interface EarlierAttempts {
  /** As `EventLog.restoredAt`. */
  restoredAt: number | undefined
  /** True where readers may know events that were not stored, and that this attempt makes again. */
  hasUnstored: boolean
}

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
  /** How often in a row the run has lost its process. Default: 0. */
  losses?: number
  /** True where the run continues after an interruption. Default: false. */
  isResumed?: boolean
  /** Default: the run has lost a process for the first time. */
  earlier?: EarlierAttempts
  /** The process before, and why the run has moved; absent for a new run. */
  moved?: Pick<HeldRecord, 'from' | 'cause'>
  /** True where messages may wait for the run. Default: false. */
  hasMessages?: boolean
  /** Default: times that begin now. */
  times?: PhaseTimes | undefined
}

/** A run in the memory of the local process: in its session's queue, or running. */
export class LiveRun {
  readonly key: RunKey
  readonly sessionId: string
  readonly operation: Operation
  readonly bodyHash: string
  readonly request: ChatRequest
  /** The text of the human message. */
  readonly input: string
  /** No client waits for an async run. */
  readonly isAsync: boolean
  readonly agent: Agent
  readonly onDisconnect: 'cancel' | 'continue'
  readonly fence: number
  /** Milliseconds that the run was executed before an interruption. Waiting for approval does not count. */
  readonly ranMs: number
  readonly losses: number
  readonly isResumed: boolean
  readonly earlier: EarlierAttempts
  readonly moved: Pick<HeldRecord, 'from' | 'cause'>
  readonly log = new EventLog()
  readonly trace: TraceRecorder
  readonly times: PhaseTimes
  /** Messages that people send to the run. */
  readonly inbox: Inbox
  /** Resolves when the run has its session; rejects when the run leaves the queue without a turn. */
  started: Promise<Turn> = never
  /** Set while the begin of the run is committed but not durable: no event may be kept, and no end stored. Rejects when the begin fails. */
  storing: Promise<unknown> | undefined
  /** Resolves when the last event is in the log. */
  ended: Promise<void> = never
  /** True where the run waits, or has waited, for its session or for a worker. */
  isQueued = false
  /** Epoch milliseconds; set when the run has its session. */
  startedAt: number | undefined
  /** Epoch milliseconds of the first text event in the local process. */
  firstTextAt: number | undefined
  stopCause: StopCause | undefined
  /** Pays for the model calls; undefined where the agent has no budgets, and before the execution. */
  meter: Meter | undefined
  /** Set when another process has taken over the run. Resolves when the readers of the local process have received the rest of the events. */
  elsewhere: Promise<void> | undefined
  /** Called when the last reader has left. */
  onNoReaders: (() => void) | undefined
  /** True where another process waits for the end of the run. */
  isWatched = false
  private readonly controller = new AbortController()
  /** Aborted when the run is to stop. */
  readonly signal: AbortSignal = this.controller.signal
  private readers = 0
  private grace: NodeJS.Timeout | undefined
  private onReader: (() => void) | undefined
  private onProgress: (() => void) | undefined
  private hasProgressed = false

  constructor(options: LiveRunOptions) {
    this.key = options.key
    this.sessionId = options.sessionId
    this.operation = options.operation
    this.bodyHash = options.bodyHash
    this.request = options.request
    this.input = options.request.messages.at(-1)?.content ?? ''
    this.isAsync = options.operation === 'chain_async' || options.operation === 'schedule'
    this.agent = options.agent
    this.onDisconnect = options.onDisconnect
    this.fence = options.fence
    this.ranMs = options.ranMs ?? 0
    this.losses = options.losses ?? 0
    this.isResumed = options.isResumed ?? false
    this.earlier = options.earlier ?? { restoredAt: undefined, hasUnstored: true }
    this.moved = options.moved ?? {}
    this.inbox = { isWaiting: options.hasMessages ?? false }
    this.trace = new TraceRecorder(this)
    this.times = options.times ?? new PhaseTimes()
  }

  /** Milliseconds of execution, without the time in the session queue or waiting for approval. */
  elapsedMs(now: number): number {
    return this.ranMs + now - (this.startedAt ?? now)
  }

  private get graceMs(): number {
    return this.agent.config.limits.reconnect_grace * 1000
  }

  get hasReaders(): boolean {
    return this.readers > 0
  }

  /** Ends the phases of the loop, and records the times so far for the trace of the run. */
  recordTimes(): void {
    this.times.endAll('model')
    this.times.endAll('tools')
    this.trace.measured(this.times.readAll())
  }

  /** Resolves when the local process has stored a checkpoint of the run. Few runs are asked. */
  get progressed(): Promise<void> {
    if (this.hasProgressed) return Promise.resolve()
    return new Promise((resolve) => (this.onProgress = resolve))
  }

  markProgress(): void {
    this.hasProgressed = true
    this.onProgress?.()
  }

  /** The first cause counts, except that a run which is not stored has no end at all. */
  stop(cause: StopCause): void {
    if ((this.stopCause && cause !== 'unstored') || this.log.ended) return
    this.stopCause = cause
    this.controller.abort()
  }

  /** Counts a reader; the returned function ends the reader's count. */
  attach(): () => void {
    this.readers++
    if (this.grace && this.readers === 1) reachState('client-back')
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

  /** Resolves to true at once or as soon as the run has a reader, and to false after the grace. */
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
    this.grace = setTimeout(() => {
      reachState('client-left')
      this.stop('disconnected')
    }, this.graceMs)
    this.grace.unref()
  }
}

const never: Promise<never> = new Promise(() => {})

/** Logs one line per run: ids and numbers, never content. */
export function logEnd(log: Logger, now: () => number): (run: LiveRun) => void {
  return (run) => {
    const { key, sessionId, operation } = run
    const end = run.log.events.at(-1)
    const { tenant, requestId } = key
    const ms = run.elapsedMs(now())
    if (end?.type === 'interrupt') log.info({ requestId, tenant, sessionId, operation, ms, calls: end.calls.length }, 'run interrupted')
    if (end?.type !== 'end') return
    const tokens = end.usage.reduce((sum, entry) => (entry.unit === 'tokens' ? sum + entry.usage : sum), 0)
    const error = end.error?.details?.error_type
    log.info({ requestId, tenant, sessionId, operation, reason: end.reason, ms, tokens, ...(error ? { error } : {}) }, 'run')
  }
}

/** Stops the runs of the local process that another process has taken over, or whose session was deleted: the store accepts no write of them any more. */
export async function stopSuperseded(store: Pick<RunStore, 'find'>, runs: readonly LiveRun[]): Promise<void> {
  for (const run of runs) {
    const isHeld = await store.find(run.key).then(
      (stored) => stored === undefined || stored.fence === run.fence,
      (error: unknown) => !(error instanceof ServiceError && error.code === 'gone'),
    )
    if (isHeld) continue
    reachState('run-superseded')
    run.stop('superseded')
  }
}
