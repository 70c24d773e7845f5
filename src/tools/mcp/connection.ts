import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, type CallToolResult } from '@modelcontextprotocol/client'
import type { Logger } from 'pino'
import { toLine } from '../plain-text.ts'
import type { Listing, Session, SessionCall, SessionEvents } from './session.ts'

/** A server that is connected to again whenever it was lost. */
export interface Connection {
  /** Why no call can be made at the moment; undefined while they can. */
  trouble(): string | undefined
  /** Fails at once while there is trouble. */
  call(call: SessionCall): Promise<CallToolResult>
  close(): Promise<void>
}

export interface ConnectionOptions {
  open(told: SessionEvents, signal: AbortSignal): Promise<Session>
  /** The list of tools, each time it was asked for; a throw is a reason not to use the server. */
  onTools(listing: Listing): Promise<void>
  /** In words for an operator, no secret in it. */
  reasonOf(error: unknown): string
  /** Whether a server may be gone, or have other tools, without anybody being told. */
  isPolled: boolean
  log: Logger
  signal?: AbortSignal
  timing?: Timing
}

export interface Timing {
  /** Before the connection is made again that was lost or refused so often in a row. */
  retryMs(failures: number): number
  /** Between two looks at a list of tools. */
  pollMs: number
  listMs: number
}

export const defaultTiming: Timing = {
  // Not all that lost the same server come back at the same moment.
  retryMs: (failures) => Math.min(60_000, 500 * 2 ** failures) * (0.8 + 0.4 * Math.random()),
  pollMs: 60_000,
  listMs: 30_000,
}

/** A call that may have been made: whether it was, nobody can tell. */
export class ConnectionLost extends Error {
  constructor(why: string, cause?: unknown) {
    super(why, { cause })
    this.name = 'ConnectionLost'
  }
}

/** Characters of what a server says is wrong with a call. */
const maxSaid = 2000
/** Calls in a row that failed on the way to the server or back: then none is made until the connection was made anew. */
const maxBroken = 3
/** A connection that lasted so long was a good one. */
const stableMs = 60_000
/** Between two lists that were asked for because the server says that it has changed. */
const changesMs = 1000

const unanswered: ReadonlySet<SdkErrorCode> = new Set([
  SdkErrorCode.ConnectionClosed,
  SdkErrorCode.NotConnected,
  SdkErrorCode.SendFailed,
  SdkErrorCode.RequestTimeout,
])

/** The server said something: that it will not, or what is no result. It is as well as before. */
function isAnswer(error: unknown): error is Error {
  if (error instanceof ProtocolError) return true
  return error instanceof SdkError && !(error instanceof SdkHttpError) && !unanswered.has(error.code)
}

/** Connects, and rejects where that fails: from then on it heals by itself. */
export async function openConnection(options: ConnectionOptions): Promise<Connection> {
  const connection = createConnection(options)
  try {
    await connection.establish()
  } catch (error) {
    await connection.close()
    throw new Error(options.reasonOf(error), { cause: error })
  }
  return connection
}

function createConnection({ open, onTools, reasonOf, isPolled, log, signal, timing = defaultTiming }: ConnectionOptions) {
  const closing = new AbortController()
  const ending = AbortSignal.any([closing.signal, ...(signal ? [signal] : [])])
  let session: Session | undefined
  let trouble: string | undefined = 'The server was not connected to yet.'
  let since = 0
  let failures = 0
  let broken = 0
  let calls = 0
  let retry: NodeJS.Timeout | undefined
  let polling: NodeJS.Timeout | undefined
  let changing: NodeJS.Timeout | undefined

  async function establish(): Promise<void> {
    let why: string | undefined
    const isCurrent = () => session === made
    const told: SessionEvents = {
      lost: (reason) => (isCurrent() ? down(reason) : void (why ??= reason)),
      doubted: () => void (isCurrent() && lookSoon()),
      listChanged: () => void (isCurrent() && lookSoon()),
      noted: (line) => log.debug({ line }, 'An MCP server says'),
    }
    let made: Session | undefined
    made = await open(told, ending)
    try {
      await onTools(await made.list(until(timing.listMs)))
      ending.throwIfAborted()
      if (why !== undefined) throw new Error(why)
    } catch (error) {
      await made.close().catch(() => {})
      throw why === undefined ? error : new Error(why, { cause: error })
    }
    session = made
    trouble = undefined
    broken = 0
    since = performance.now()
    if (isPolled) polling = setInterval(() => void (calls === 0 && look()), timing.pollMs).unref()
  }

  const until = (ms: number) => AbortSignal.any([ending, AbortSignal.timeout(ms)])

  /** Nothing is sent over a connection that is given up: what waits for an answer fails. */
  function abandon(reason: string): void {
    const old = session
    session = undefined
    trouble = reason
    clearInterval(polling)
    clearTimeout(changing)
    void old?.close().catch((err: unknown) => log.debug({ err }, 'A connection could not be closed'))
  }

  function down(reason: string): void {
    if (ending.aborted || !session) return
    if (performance.now() - since > stableMs) failures = 0
    abandon(reason)
    failed(reason)
  }

  function failed(reason: string): void {
    trouble = reason
    failures++
    log.warn({ reason, failures }, 'An MCP server can not be used')
    if (!ending.aborted) retry = setTimeout(() => void restore(), timing.retryMs(failures)).unref()
  }

  let restoring: Promise<void> | undefined
  function restore(): Promise<void> {
    clearTimeout(retry)
    return (restoring ??= establish()
      .then(() => log.info('An MCP server is connected again'))
      .catch((error: unknown) => void (ending.aborted || failed(reasonOf(error))))
      .finally(() => (restoring = undefined)))
  }

  let looking: Promise<void> | undefined
  let lookedAt = 0
  /** Asks for the list: whether the server is still there, and what it has. */
  function look(): Promise<void> {
    const own = session
    if (!own || looking) return looking ?? Promise.resolve()
    lookedAt = performance.now()
    const asked = own.list(until(timing.listMs)).then(onTools)
    return (looking = asked
      .catch((error: unknown) => {
        if (own !== session || ending.aborted) return
        if (own.isForgotten(error)) return renew(own)
        down(reasonOf(error))
      })
      .finally(() => (looking = undefined)))
  }

  function lookSoon(): void {
    clearTimeout(changing)
    changing = setTimeout(() => void (looking ? lookSoon() : look()), Math.max(0, lookedAt + changesMs - performance.now())).unref()
  }

  /** The server itself is well: another session is had at once. */
  async function renew(own: Session): Promise<void> {
    if (own === session) abandon('The server has forgotten the session.')
    await restore()
  }

  async function call(request: SessionCall): Promise<CallToolResult> {
    const own = session
    if (!own) throw new Error(`The server of this tool can't be used at the moment: ${trouble}`)
    calls++
    try {
      const result = await own.call(request)
      failures = broken = 0
      return result
    } catch (error) {
      if (own.isForgotten(error) && !request.signal.aborted) return await callAgain(own, request)
      throw settle(error, own, request.signal)
    } finally {
      calls--
    }
  }

  /** Once: the server did nothing of the call that it knew no session for. */
  async function callAgain(own: Session, request: SessionCall): Promise<CallToolResult> {
    await renew(own)
    if (!session) throw new Error(`The server of this tool can't be used at the moment: ${trouble}`)
    return session.call(request)
  }

  function settle(error: unknown, own: Session, { aborted }: AbortSignal): unknown {
    if (own !== session)
      return aborted ? error : new ConnectionLost(`The connection to the server was lost: ${trouble ?? 'it was made anew.'}`)
    if (isAnswer(error)) {
      broken = 0
      return new Error(`The server refused the call: ${toLine(error.message, maxSaid)}`, { cause: error })
    }
    // One that is busy with other calls need not answer at once.
    if (aborted) {
      if (calls === 1) void look()
      return error
    }
    broken++
    if (broken >= maxBroken) down(`${broken} calls in a row failed, the last one so: ${reasonOf(error)}`)
    else void look()
    return new ConnectionLost(reasonOf(error), error)
  }

  async function close(): Promise<void> {
    closing.abort()
    clearTimeout(retry)
    clearTimeout(changing)
    clearInterval(polling)
    trouble = 'The server is not used any more.'
    const old = session
    session = undefined
    await Promise.all([old?.close().catch(() => {}), restoring])
  }

  return { establish, trouble: () => trouble, call, close }
}
