import { stat } from 'node:fs/promises'
import { Client, SdkError, SdkHttpError, type CallToolResult, type Progress, type Tool as ListedTool } from '@modelcontextprotocol/client'
import type { JsonObject } from '../../agent/messages.ts'
import type { Outbound } from '../builder.ts'
import { createHttpTransport } from './http-transport.ts'
import { limits } from './limits.ts'
import { listTools } from './list-tools.ts'
import { mayBeOldTransport, oldTransport, speaksOldTransport } from './old-transport.ts'
import { settlesWithin } from '../../concurrency/settles-within.ts'
import { toLine } from '../plain-text.ts'
import type { Server } from './server.ts'
import { createStdioTransport } from './stdio-transport.ts'

/** A connection to a server, from the handshake to the close. */
export interface Session {
  list(signal: AbortSignal): Promise<Listing>
  call(call: SessionCall): Promise<CallToolResult>
  /** True when the server has forgotten the session, and therefore has not executed the request. */
  isForgotten(error: unknown): boolean
  close(): Promise<void>
}

/** All tools of a server, not validated. */
export interface Listing {
  tools: readonly unknown[]
  /** True when a call repeats annotated arguments in HTTP headers. */
  mirrorsArguments: boolean
}

export interface SessionCall {
  tool: ListedTool
  input: JsonObject
  meta: Record<string, unknown>
  signal: AbortSignal
  timeoutMs: number
  onProgress(progress: Progress): void
}

export interface SessionEvents {
  /** The session has ended unexpectedly, for the given reason. */
  lost(reason: string): void
  /** A stream broke; the server may be unreachable and should be checked. */
  doubted(): void
  listChanged(): void
  /** A line for debugging: standard error of the command, or a transport fault. */
  noted(line: string): void
}

export interface SessionOptions {
  outbound: Outbound
  /** Maximum time of a call. */
  timeoutMs: number
}

/** A command such as `npx` may have to download its package first. */
const localConnectMs = 60_000
const remoteConnectMs = 15_000
/** Timeout of the probe for the newest protocol: a server of the 2025 protocol may never answer. The handshake then uses the 2025 protocol. */
const probeMs = 10_000
const terminateMs = 1000
const changesDebounceMs = 200
/** Transport faults that are reported per session; a server may cause any number. */
const maxFaults = 20
/** Added to the timeouts of the transport, so that a call ends by its own signal first. */
const graceMs = 5000

/** Connects with the newest protocol that both sides support. Rejects with a reason for an operator, or with an error of the SDK. */
export async function openSession(server: Server, options: SessionOptions, events: SessionEvents, signal: AbortSignal): Promise<Session> {
  if (server.kind === 'remote') {
    return connect(server, options, events, signal, 'auto').catch(async (error: unknown) => {
      if (signal.aborted) throw error
      // Some servers of the 2025 protocol fail at the unknown probe.
      if (error instanceof SdkHttpError && error.status >= 500) return connect(server, options, events, signal, 'legacy')
      const isOld = mayBeOldTransport(statusOf(error)) && (await speaksOldTransport(server, options.outbound, signal))
      throw isOld ? new Error(oldTransport, { cause: error }) : error
    })
  }
  const folder = await stat(server.cwd).catch(() => undefined)
  if (!folder?.isDirectory()) throw new Error(`There is no folder ${server.cwd}.`)
  let exitReason: string | undefined
  let isOpen = false
  const startEvents: SessionEvents = { ...events, lost: (reason) => (isOpen ? events.lost(reason) : void (exitReason = reason)) }
  try {
    const session = await connect(server, options, startEvents, signal, 'auto').catch((error: unknown) => {
      if (exitReason === undefined || signal.aborted) throw error
      exitReason = undefined
      // Some servers of the 2025 protocol exit at the probe before the handshake: the second attempt skips the probe.
      return connect(server, options, startEvents, signal, 'legacy')
    })
    if (exitReason !== undefined) throw new Error(exitReason)
    isOpen = true
    return session
  } catch (error) {
    throw exitReason === undefined ? error : new Error(exitReason, { cause: error })
  }
}

type Connect = [server: Server, options: SessionOptions, events: SessionEvents, signal: AbortSignal, mode: 'auto' | 'legacy']

async function connect(...[server, options, events, signal, mode]: Connect): Promise<Session> {
  signal.throwIfAborted()
  let isClosing = false
  const transport = createTransport(server, options, { ...events, lost: (reason) => void (isClosing || events.lost(reason)) })
  const client = new Client(
    { name: 'agent-core', version: '1' },
    {
      versionNegotiation: { mode, probe: { timeoutMs: probeMs } },
      // No support for sampling, elicitation and roots is declared: such a request is answered with "method not found".
      capabilities: {},
      listChanged: { tools: { autoRefresh: false, debounceMs: changesDebounceMs, onChanged: () => events.listChanged() } },
    },
  )
  let faults = 0
  const onerror = (error: Error) => {
    if (++faults <= maxFaults) events.noted(server.secrets.hide(toLine(error.message, limits.logLineCharacters)))
    // The broken stream may have carried the response to a call, which would then wait until its timeout.
    if (/stream|reconnect/i.test(error.message)) events.doubted()
  }
  Object.assign(client, { onerror })
  const abort = () => void transport.close().catch(() => {})
  signal.addEventListener('abort', abort, { once: true })
  try {
    await client.connect(transport, { timeout: server.kind === 'local' ? localConnectMs : remoteConnectMs, signal })
  } catch (error) {
    isClosing = true
    await transport.close().catch(() => {})
    throw error
  } finally {
    signal.removeEventListener('abort', abort)
  }
  // Set after the handshake: an earlier close is reported by the rejection of `connect`.
  const onclose = () => void (isClosing || events.lost('The server closed the connection.'))
  Object.assign(client, { onclose })

  return {
    async list(until) {
      const mirrorsArguments = server.kind === 'remote' && client.getProtocolEra() === 'modern'
      return { tools: await listTools(client, until), mirrorsArguments }
    },
    call: ({ tool, input, meta, signal, timeoutMs, onProgress }) =>
      client.callTool(
        { name: tool.name, arguments: input, _meta: meta },
        // The validated definition, without the output schema: results are passed on without validation.
        { signal, timeout: timeoutMs + graceMs, onprogress: onProgress, toolDefinition: { ...tool, outputSchema: undefined } },
      ),
    isForgotten: (error) => 'sessionId' in transport && transport.sessionId !== undefined && isUnknownSession(error),
    async close() {
      isClosing = true
      if ('terminateSession' in transport) await settlesWithin(transport.terminateSession(), terminateMs)
      await client.close()
    },
  }
}

function createTransport(server: Server, { outbound, timeoutMs }: SessionOptions, events: SessionEvents) {
  if (server.kind === 'remote')
    return createHttpTransport(server, { outbound, timeoutMs: timeoutMs + graceMs, onTooLong: events.lost, onToken: server.secrets.add })
  const { secrets, ...launch } = server
  return createStdioTransport(launch, { hide: secrets.hide, onStderr: events.noted, onEnd: events.lost })
}

/** The HTTP status of an error; the probe for the newest protocol may wrap the error. */
function statusOf(error: unknown): number | undefined {
  if (error instanceof SdkHttpError) return error.status
  return error instanceof SdkError ? statusOf(error.cause) : undefined
}

/** True for 404, as in the protocol, and for 400 with the word "session" in the text, as some servers answer. */
function isUnknownSession(error: unknown): boolean {
  if (!(error instanceof SdkHttpError)) return false
  return error.status === 404 || (error.status === 400 && /session/i.test(String(error.data?.text)))
}
