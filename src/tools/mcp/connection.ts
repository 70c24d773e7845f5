import {
  type CallToolResult,
  type InputRequiredResult,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from '@modelcontextprotocol/client'
import type { Logger } from 'pino'
import { toLine } from '../plain-text.ts'
import type { Listing, ResourceRequest, Session, SessionCall, SessionEvents } from './session.ts'

/** A connection to a server; a lost connection is made again. */
export interface Connection {
  /** Why no call can be made at the moment; undefined while calls can be made. */
  unavailableReason(): string | undefined
  /** Fails at once while there is an `unavailableReason`. */
  call(call: SessionCall): Promise<CallToolResult | InputRequiredResult>
  /** As `call`. */
  resources(request: ResourceRequest): Promise<Record<string, unknown>>
  close(): Promise<void>
}

interface ConnectionOptions {
  open(events: SessionEvents, signal: AbortSignal): Promise<Session>
  /** Receives every list of tools. A throw is a reason not to use the server. */
  onTools(listing: Listing): Promise<void>
  /** An error in words for an operator, without secrets. */
  reasonOf(error: unknown): string
  /** True when the server may disappear, or change its tools, without a message. */
  isPolled: boolean
  log: Logger
  signal?: AbortSignal
  timing?: Timing
}

export interface Timing {
  /** Milliseconds before the next attempt to connect, after so many losses and refusals in a row. */
  retryMs(failures: number): number
  /** Milliseconds between two polls of the list of tools. */
  pollMs: number
  /** Timeout of a request for the list of tools. */
  listMs: number
  /** Milliseconds between two checks whether a person has logged in. */
  loginMs: number
}

export const defaultTiming: Timing = {
  // The jitter keeps clients that lost the same server from reconnecting at the same moment.
  retryMs: (failures) => Math.min(60_000, 500 * 2 ** failures) * (0.8 + 0.4 * Math.random()),
  pollMs: 60_000,
  listMs: 30_000,
  loginMs: 2000,
}

/** The connection broke during a call: the server may or may not have executed the call. */
export class ConnectionLost extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'ConnectionLost'
  }
}

type State = Disconnected | Connected | { name: 'closed' }

/** No call can be made: before the first attempt, while an attempt is under way, or until `retry` starts the next one. */
interface Disconnected {
  name: 'disconnected'
  reason: string
  retry?: NodeJS.Timeout
}

interface Connected {
  name: 'connected'
  session: Session
  /** `performance.now()` of the connection. */
  since: number
  /** Calls in a row that failed on the way to the server or back. */
  failedCalls: number
  /** The current request for the list of tools. */
  refreshing?: Promise<void>
  /** Polls a server that does not tell of changes. */
  poll?: NodeJS.Timeout | undefined
  /** Starts the next request for the list of tools. */
  nextRefresh?: NodeJS.Timeout
}

/** Maximum characters of a server's reason for a refused call. */
const maxRefusalText = 2000
/** After so many failed calls in a row the connection is made again. */
const maxFailedCalls = 3
/** A connection that lasted so long resets the count of failures. */
const stableMs = 60_000
/** Minimum time between two lists of tools that a server's notifications cause. */
const refreshIntervalMs = 1000

/** Error codes of the client library for a missing answer of the server. */
const unanswered: ReadonlySet<SdkErrorCode> = new Set([
  SdkErrorCode.ConnectionClosed,
  SdkErrorCode.NotConnected,
  SdkErrorCode.SendFailed,
  SdkErrorCode.RequestTimeout,
])

/** True for an answer of the server: a refusal, or an invalid result. The connection is intact then. */
function isAnswer(error: unknown): error is Error {
  if (error instanceof ProtocolError) return true
  return error instanceof SdkError && !(error instanceof SdkHttpError) && !unanswered.has(error.code)
}

/** Connects to a server. Rejects where the first attempt fails; later the connection is made again by itself. */
export async function openConnection(options: ConnectionOptions): Promise<Connection> {
  const connection = new ServerConnection(options)
  try {
    await connection.connect()
  } catch (error) {
    await connection.close()
    throw new Error(options.reasonOf(error), { cause: error })
  }
  return connection
}

class ServerConnection implements Connection {
  private readonly options: ConnectionOptions
  private readonly timing: Timing
  private readonly closing = new AbortController()
  /** Aborted by `close` and by the signal of the options. */
  private readonly ending: AbortSignal
  private state: State = { name: 'disconnected', reason: 'The server was not connected to yet.' }
  /** The current attempt to restore the connection. */
  private restoring: Promise<void> | undefined
  /** Losses and refused attempts in a row. */
  private failures = 0
  private openCalls = 0
  /** `performance.now()` of the last request for the list of tools. */
  private refreshedAt = 0

  constructor(options: ConnectionOptions) {
    this.options = options
    this.timing = options.timing ?? defaultTiming
    this.ending = AbortSignal.any([this.closing.signal, ...(options.signal ? [options.signal] : [])])
  }

  readonly unavailableReason = (): string | undefined => {
    if (this.state.name === 'connected') return undefined
    return this.state.name === 'closed' ? 'The server is no longer used.' : this.state.reason
  }

  /** Opens a session and takes over its list of tools. */
  async connect(): Promise<void> {
    let lossReason: string | undefined
    let session: Session | undefined
    const refresh = () => this.isCurrent(session) && this.refreshSoon(this.state as Connected)
    session = await this.options.open(
      {
        lost: (reason) => (this.isCurrent(session) ? this.lose(reason) : void (lossReason ??= reason)),
        doubted: () => void refresh(),
        listChanged: () => void refresh(),
        noted: (line) => this.options.log.debug({ line }, 'Output of an MCP server'),
      },
      this.ending,
    )
    try {
      await this.options.onTools(await session.list(this.until(this.timing.listMs)))
      this.ending.throwIfAborted()
      if (lossReason !== undefined) throw new Error(lossReason)
    } catch (error) {
      await session.close().catch(() => {})
      throw lossReason === undefined ? error : new Error(lossReason, { cause: error })
    }
    this.becomeConnected(session)
  }

  call(request: SessionCall): Promise<CallToolResult | InputRequiredResult> {
    return this.request(request.signal, (session) => session.call(request))
  }

  resources(request: ResourceRequest): Promise<Record<string, unknown>> {
    return this.request(request.signal, (session) => session.resources(request))
  }

  private async request<T>(signal: AbortSignal, send: (session: Session) => Promise<T>): Promise<T> {
    const session = this.currentSession()
    this.openCalls++
    try {
      const result = await send(session)
      this.failures = 0
      if (this.state.name === 'connected') this.state.failedCalls = 0
      return result
    } catch (error) {
      if (session.isForgotten(error) && !signal.aborted) return await this.sendAgain(session, send)
      throw this.toCallError(error, session, signal)
    } finally {
      this.openCalls--
    }
  }

  async close(): Promise<void> {
    this.closing.abort()
    const session = this.leave({ name: 'closed' })
    await Promise.all([session?.close().catch(() => {}), this.restoring])
  }

  private becomeConnected(session: Session): void {
    const state: Connected = { name: 'connected', session, since: performance.now(), failedCalls: 0 }
    if (this.options.isPolled)
      state.poll = setInterval(() => void (this.openCalls === 0 && this.refresh(state)), this.timing.pollMs).unref()
    this.state = state
  }

  /** Clears the timers of the state and enters another state. Returns the session to close. */
  private leave(next: State): Session | undefined {
    const { state } = this
    this.state = next
    if (state.name === 'disconnected') clearTimeout(state.retry)
    if (state.name !== 'connected') return undefined
    clearInterval(state.poll)
    clearTimeout(state.nextRefresh)
    return state.session
  }

  /** Closes the session: calls that wait for an answer fail. */
  private disconnect(reason: string): void {
    const session = this.leave({ name: 'disconnected', reason })
    session?.close().catch((err: unknown) => this.options.log.debug({ err }, 'A connection to an MCP server could not be closed'))
  }

  /** The connection is lost. */
  private lose(reason: string): void {
    if (this.ending.aborted || this.state.name !== 'connected') return
    if (performance.now() - this.state.since > stableMs) this.failures = 0
    this.disconnect(reason)
    this.retryLater(reason)
  }

  private retryLater(reason: string): void {
    this.failures++
    const { failures } = this
    this.options.log.warn({ reason, failures }, 'An MCP server cannot be used')
    const retry = setTimeout(() => void this.restore(), this.timing.retryMs(failures)).unref()
    this.leave({ name: 'disconnected', reason, retry })
  }

  private restore(): Promise<void> {
    if (this.state.name === 'disconnected') clearTimeout(this.state.retry)
    return (this.restoring ??= this.connect()
      .then(() => this.options.log.info('An MCP server is connected again'))
      .catch((error: unknown) => void (this.ending.aborted || this.retryLater(this.options.reasonOf(error))))
      .finally(() => (this.restoring = undefined)))
  }

  /** Asks for the list of tools: whether the server still answers, and which tools it has. */
  private refresh(state: Connected): Promise<void> {
    if (state.refreshing) return state.refreshing
    this.refreshedAt = performance.now()
    const { session } = state
    return (state.refreshing = session
      .list(this.until(this.timing.listMs))
      .then(this.options.onTools)
      .catch((error: unknown) => {
        if (!this.isCurrent(session) || this.ending.aborted) return
        if (session.isForgotten(error)) return this.renew(session)
        this.lose(this.options.reasonOf(error))
      })
      .finally(() => delete state.refreshing))
  }

  private refreshSoon(state: Connected): void {
    clearTimeout(state.nextRefresh)
    const delayMs = Math.max(0, this.refreshedAt + refreshIntervalMs - performance.now())
    state.nextRefresh = setTimeout(() => void (state.refreshing ? this.refreshSoon(state) : this.refresh(state)), delayMs).unref()
  }

  /** Opens another session at once, unless there is one already: the server has forgotten `session`, but can be reached. */
  private async renew(session: Session): Promise<void> {
    if (this.isCurrent(session)) this.disconnect('The server has forgotten the session.')
    if (this.state.name !== 'connected') await this.restore()
  }

  /** Repeats a request once, which is safe: the server has not executed a request of an unknown session. */
  private async sendAgain<T>(session: Session, send: (session: Session) => Promise<T>): Promise<T> {
    await this.renew(session)
    return send(this.currentSession())
  }

  private toCallError(error: unknown, session: Session, { aborted }: AbortSignal): unknown {
    const { state } = this
    if (state.name !== 'connected' || state.session !== session)
      return aborted
        ? error
        : new ConnectionLost(`The connection to the server was lost: ${this.unavailableReason() ?? 'it was made again.'}`)
    if (isAnswer(error)) {
      state.failedCalls = 0
      return new Error(`The server refused the call: ${toLine(error.message, maxRefusalText)}`, { cause: error })
    }
    // A server that is busy with other calls need not answer at once.
    if (aborted) {
      if (this.openCalls === 1) void this.refresh(state)
      return error
    }
    state.failedCalls++
    const reason = this.options.reasonOf(error)
    if (state.failedCalls >= maxFailedCalls) this.lose(`${state.failedCalls} calls in a row failed; the last error: ${reason}`)
    else void this.refresh(state)
    return new ConnectionLost(reason, error)
  }

  private isCurrent(session: Session | undefined): boolean {
    return this.state.name === 'connected' && this.state.session === session
  }

  private currentSession(): Session {
    if (this.state.name === 'connected') return this.state.session
    throw new Error(`The server of this tool cannot be used at the moment: ${this.unavailableReason()}`)
  }

  private until(ms: number): AbortSignal {
    return AbortSignal.any([this.ending, AbortSignal.timeout(ms)])
  }
}
