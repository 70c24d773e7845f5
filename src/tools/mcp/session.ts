import { stat } from 'node:fs/promises'
import {
  Client,
  SdkError,
  SdkHttpError,
  type CallToolResult,
  type Progress,
  type StreamableHTTPClientTransport,
  type Tool as ListedTool,
} from '@modelcontextprotocol/client'
import type { JsonObject } from '../../agent/messages.ts'
import type { Outbound } from '../builder.ts'
import { createHttpTransport } from './http-transport.ts'
import { limits } from './limits.ts'
import { listTools } from './list-tools.ts'
import { mayBeOldTransport, oldTransport, speaksOldTransport } from './old-transport.ts'
import { toLine } from '../plain-text.ts'
import type { Server } from './server.ts'
import { createStdioTransport } from './stdio-transport.ts'

/** One connection to a server, from its handshake to its end. */
export interface Session {
  list(signal: AbortSignal): Promise<Listing>
  call(call: SessionCall): Promise<CallToolResult>
  /** Whether the server has forgotten the session, so that it did nothing of what was asked for. */
  isForgotten(error: unknown): boolean
  close(): Promise<void>
}

/** All tools of a server, as it describes them: nothing in them is checked. */
export interface Listing {
  tools: readonly unknown[]
  /** Whether a call repeats annotated arguments in HTTP headers. */
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
  /** It has ended, not asked to: why, in words. */
  lost(why: string): void
  /** Something broke; whether the server is still there is to be found out. */
  doubted(): void
  listChanged(): void
  /** What an operator may want to see who looks for a fault: lines of standard error, faults of the wire. */
  noted(line: string): void
}

export interface SessionOptions {
  outbound: Outbound
  /** Of a call, at most. */
  timeoutMs: number
}

/** A command may have to be downloaded first. */
const localConnectMs = 60_000
const remoteConnectMs = 15_000
/** Servers of the 2025 protocol may leave a question unanswered that they don't know; then they are asked in its words. */
const probeMs = 10_000
const farewellMs = 1000
const changesPauseMs = 200
/** Of the wire, that are noted; a server may make as many as it likes. */
const maxFaults = 20
/** A call ends by its signal; this is behind it. */
const behindMs = 5000

/** Connects in the newest protocol that both speak. Rejects in words for an operator, or with an error of the SDK. */
export async function openSession(server: Server, options: SessionOptions, told: SessionEvents, signal: AbortSignal): Promise<Session> {
  if (server.kind === 'remote') {
    return connect(server, options, told, signal, 'auto').catch(async (error: unknown) => {
      if (signal.aborted) throw error
      // A server of the 2025 protocol that breaks at a question that it does not know.
      if (error instanceof SdkHttpError && error.status >= 500) return connect(server, options, told, signal, 'legacy')
      const isOld = mayBeOldTransport(statusOf(error)) && (await speaksOldTransport(server, options.outbound, signal))
      throw isOld ? new Error(oldTransport, { cause: error }) : error
    })
  }
  const folder = await stat(server.cwd).catch(() => undefined)
  if (!folder?.isDirectory()) throw new Error(`There is no folder ${server.cwd}.`)
  let why: string | undefined
  let isOpen = false
  const events: SessionEvents = { ...told, lost: (reason) => (isOpen ? told.lost(reason) : void (why = reason)) }
  try {
    const session = await connect(server, options, events, signal, 'auto').catch((error: unknown) => {
      if (why === undefined || signal.aborted) throw error
      why = undefined
      // Some servers of the 2025 protocol end at a question before their handshake: the second time they are not asked.
      return connect(server, options, events, signal, 'legacy')
    })
    if (why !== undefined) throw new Error(why)
    isOpen = true
    return session
  } catch (error) {
    throw why === undefined ? error : new Error(why, { cause: error })
  }
}

type Connect = [server: Server, options: SessionOptions, told: SessionEvents, signal: AbortSignal, mode: 'auto' | 'legacy']

async function connect(...[server, options, told, signal, mode]: Connect): Promise<Session> {
  signal.throwIfAborted()
  let isClosing = false
  const transport = createTransport(server, options, { ...told, lost: (why) => void (isClosing || told.lost(why)) })
  const client = new Client(
    { name: 'agent-core', version: '1' },
    {
      versionNegotiation: { mode, probe: { timeoutMs: probeMs } },
      // Nothing is declared of sampling, elicitation and roots: a server that asks all the same is told that there is no such method.
      capabilities: {},
      listChanged: { tools: { autoRefresh: false, debounceMs: changesPauseMs, onChanged: () => told.listChanged() } },
    },
  )
  let faults = 0
  const onerror = (error: Error) => {
    if (++faults <= maxFaults) told.noted(server.secrets.hide(toLine(error.message, limits.logLineCharacters)))
    // A stream that broke may have been the one with the answer: it would be waited for until the call's time is up.
    if (/stream|reconnect/i.test(error.message)) told.doubted()
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
  // Only now: what ends before is told by the rejection.
  const onclose = () => void (isClosing || told.lost('The server closed the connection.'))
  Object.assign(client, { onclose })

  return {
    async list(until) {
      const mirrorsArguments = server.kind === 'remote' && client.getProtocolEra() === 'modern'
      return { tools: await listTools(client, until), mirrorsArguments }
    },
    call: ({ tool, input, meta, signal, timeoutMs, onProgress }) =>
      client.callTool(
        { name: tool.name, arguments: input, _meta: meta },
        // The definition that was checked, without the schema of its output: what comes is passed on as it is.
        { signal, timeout: timeoutMs + behindMs, onprogress: onProgress, toolDefinition: { ...tool, outputSchema: undefined } },
      ),
    isForgotten: (error) => 'sessionId' in transport && transport.sessionId !== undefined && isUnknownSession(error),
    async close() {
      isClosing = true
      if ('terminateSession' in transport) await within(farewellMs, transport.terminateSession())
      await client.close()
    },
  }
}

function createTransport(server: Server, { outbound, timeoutMs }: SessionOptions, told: SessionEvents) {
  if (server.kind === 'remote')
    return createHttpTransport(server, { outbound, timeoutMs: timeoutMs + behindMs, onTooLong: told.lost, onToken: server.secrets.add })
  const { secrets, ...launch } = server
  return createStdioTransport(launch, { hide: secrets.hide, onStderr: told.noted, onEnd: told.lost })
}

/** The probe for the newest protocol may stand between an error and its cause. */
function statusOf(error: unknown): number | undefined {
  if (error instanceof SdkHttpError) return error.status
  return error instanceof SdkError ? statusOf(error.cause) : undefined
}

/** 404 by the protocol; some servers say 400, and what is wrong in their text. */
function isUnknownSession(error: unknown): boolean {
  if (!(error instanceof SdkHttpError)) return false
  return error.status === 404 || (error.status === 400 && /session/i.test(String(error.data?.text)))
}

async function within(ms: number, work: ReturnType<StreamableHTTPClientTransport['terminateSession']>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([work, late]).catch(() => {})
  clearTimeout(timer)
}
