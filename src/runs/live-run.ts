import type { Agent } from '../configuration/agent.ts'
import { EventLog } from './event-log.ts'
import type { ChatRequest, Operation, RunKey } from './run.ts'
import type { Turn } from './run-store.ts'

/** Why a run was stopped. `left`: its client went away and did not come back. */
export type StopCause = 'timeout' | 'cancelled' | 'left'

export interface LiveRunOptions {
  key: RunKey
  sessionId: string
  operation: Operation
  bodyHash: string
  request: ChatRequest
  agent: Agent
  onDisconnect: 'cancel' | 'continue'
  fence: number
  graceMs: number
  createdAt: number
}

/** A run that this process has: in line, running, or ended a moment ago. */
export class LiveRun {
  readonly key: RunKey
  readonly sessionId: string
  readonly operation: Operation
  readonly bodyHash: string
  readonly request: ChatRequest
  readonly agent: Agent
  readonly fence: number
  readonly createdAt: number
  log = new EventLog()
  /** Resolves when it has the session, rejects when it never got it. */
  started: Promise<Turn> = new Promise(() => {})
  /** Resolves when its end is stored. */
  ended: Promise<void> = new Promise(() => {})
  startedAt: number | undefined
  stopCause: StopCause | undefined
  private onDisconnect: 'cancel' | 'continue'
  private readonly graceMs: number
  private readonly controller = new AbortController()
  private readers = 0
  private grace: NodeJS.Timeout | undefined

  constructor(options: LiveRunOptions) {
    this.key = options.key
    this.sessionId = options.sessionId
    this.operation = options.operation
    this.bodyHash = options.bodyHash
    this.request = options.request
    this.agent = options.agent
    this.fence = options.fence
    this.createdAt = options.createdAt
    this.onDisconnect = options.onDisconnect
    this.graceMs = options.graceMs
  }

  /** The text of the human message. */
  get input(): string {
    return this.request.messages.at(-1)?.content ?? ''
  }

  /** Aborted when the run is to stop. */
  get signal(): AbortSignal {
    return this.controller.signal
  }

  /** The run goes on where another process left it. */
  restore(events: EventLog['events']): void {
    this.log = new EventLog({ events, restoredAt: events.length })
  }

  stop(cause: StopCause): void {
    if (this.stopCause || this.log.ended) return
    this.stopCause = cause
    this.controller.abort()
  }

  /** Somebody waits for the run; the returned function says that they left, once. */
  attach(): () => void {
    this.readers++
    clearTimeout(this.grace)
    let attached = true
    return () => {
      if (!attached) return
      attached = false
      this.readers--
      this.expectReader()
    }
  }

  /** Nobody reads: a run that needs a reader is stopped when none comes within the grace. */
  expectReader(): void {
    if (this.readers > 0 || this.onDisconnect === 'continue' || this.log.ended) return
    this.grace = setTimeout(() => this.stop('left'), this.graceMs)
    this.grace.unref()
  }
}
