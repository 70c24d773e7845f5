import { stat } from 'node:fs/promises'
import { Client, ProtocolError, ProtocolErrorCode, SdkError, SdkHttpError, type StandardSchemaV1 } from '@modelcontextprotocol/client'
import { createMutex } from '../../concurrency/mutex.ts'
import { settlesWithin } from '../../concurrency/settles-within.ts'
import { isDeeper } from '../../json/shape.ts'
import { toLine } from '../plain-text.ts'
import { createHttpTransport, mayBeOldTransport, oldTransport, speaksOldTransport } from './http-transport.ts'
import type { AllowedRequests, ServerRequests } from './server-requests.ts'
import { limits, type Server } from './server.ts'
import type { Session, SessionEvents, SessionOptions } from './session.ts'
import { createStdioTransport } from './stdio-transport.ts'

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

/** The HTTP status of an error; the probe for the newest protocol may wrap the error. */
function statusOf(error: unknown): number | undefined {
  if (error instanceof SdkHttpError) return error.status
  return error instanceof SdkError ? statusOf(error.cause) : undefined
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

type Connect = [server: Server, options: SessionOptions, events: SessionEvents, signal: AbortSignal, mode: 'auto' | 'legacy']

/** Connects the client library to a server. `legacy`: without the probe for the newest protocol. */
async function connect(...[server, options, events, signal, mode]: Connect): Promise<Session> {
  signal.throwIfAborted()
  let isClosing = false
  const transport = createTransport(server, options, { ...events, lost: (reason) => void (isClosing || events.lost(reason)) })
  const client = new Client(
    { name: 'agent-core', version: '1' },
    {
      versionNegotiation: { mode, probe: { timeoutMs: probeMs } },
      capabilities: toCapabilities(options.allowed),
      inputRequired: { autoFulfill: false },
      listChanged: { tools: { autoRefresh: false, debounceMs: changesDebounceMs, onChanged: () => events.listChanged() } },
    },
  )
  const older = answerOlderRequests(client, options.allowed)
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
      const hasResources = client.getServerCapabilities()?.resources !== undefined
      return { tools: await listTools(client, until), mirrorsArguments, hasResources }
    },
    resources: async ({ method, params, meta, signal, timeoutMs }) =>
      // Not cached: the answer may depend on the caller, whose context is in the request.
      Object(await client.request({ method, params: { ...params, _meta: meta } }, anySchema, { signal, timeout: timeoutMs + graceMs })),
    call: ({ tool, input, meta, signal, timeoutMs, onProgress, requests, answers }) =>
      older.during(requests, () =>
        client.callTool(
          { name: tool.name, arguments: input, _meta: meta, ...answers },
          {
            signal,
            timeout: timeoutMs + graceMs,
            onprogress: onProgress,
            allowInputRequired: true,
            // The validated definition, without the output schema: results are passed on without validation.
            toolDefinition: { ...tool, outputSchema: undefined },
          },
        ),
      ),
    isForgotten: (error) => 'sessionId' in transport && transport.sessionId !== undefined && isUnknownSession(error),
    async close() {
      isClosing = true
      if ('terminateSession' in transport) await settlesWithin(transport.terminateSession(), terminateMs)
      await client.close()
    },
  }
}

function createTransport(server: Server, { outbound, logins, timeoutMs }: SessionOptions, events: SessionEvents) {
  if (server.kind === 'remote') {
    const limits = { timeoutMs: timeoutMs + graceMs, onTooLong: events.lost }
    return createHttpTransport(server, { outbound, logins, ...limits, onToken: server.secrets.add })
  }
  const { secrets, ...launch } = server
  return createStdioTransport(launch, { hide: secrets.hide, onStderr: events.noted, onEnd: events.lost })
}

/** True for 404, as in the protocol, and for 400 with the word "session" in the text, as some servers answer. */
function isUnknownSession(error: unknown): boolean {
  if (!(error instanceof SdkHttpError)) return false
  return error.status === 404 || (error.status === 400 && /session/i.test(String(error.data?.text)))
}

/** Accepts every result: the check of the SDK would reject the whole list for a single invalid tool. */
const anySchema: StandardSchemaV1<unknown, unknown> = {
  '~standard': { version: 1, vendor: 'agent-core', validate: (value) => ({ value }) },
}

/** All pages of the tool list of a server. Rejects when the list is malformed, too long or endless. */
async function listTools(client: Client, signal: AbortSignal): Promise<unknown[]> {
  if (!client.getServerCapabilities()?.tools) return []
  const tools: unknown[] = []
  let cursor: string | undefined
  let characters = 0
  for (let page = 0; page < limits.listPages; page++) {
    const params = cursor === undefined ? {} : { cursor }
    const answer = await client.request({ method: 'tools/list', params }, anySchema, { signal })
    const { tools: pageTools, nextCursor } = Object(answer) as Record<string, unknown>
    if (!Array.isArray(pageTools)) throw new Error('The server does not list its tools as the protocol requires.')
    for (const tool of pageTools) {
      // A tool that is nested too deeply cannot be serialised; the name is kept, so that the tool is listed with a fault.
      const bounded = isDeeper(tool, 2 * limits.schemaDepth) ? { name: Object(tool)['name'] } : tool
      characters += JSON.stringify(bounded)?.length ?? 0
      if (characters > limits.listCharacters) throw new Error(`The list of tools is longer than ${limits.listCharacters / 1024 / 1024} MB.`)
      tools.push(bounded)
    }
    if (typeof nextCursor !== 'string') return tools
    cursor = nextCursor
  }
  throw new Error(`The list of tools has more than ${limits.listPages} pages.`)
}

/** Must be called before the client connects, with the same `allowed` as its capabilities. */
function answerOlderRequests(client: Client, allowed: AllowedRequests) {
  const mutex = createMutex()
  let current: ServerRequests | undefined
  const requestsOfCall = () => {
    if (!current) throw new ProtocolError(ProtocolErrorCode.InvalidRequest, 'The request belongs to no open call.')
    return current
  }
  if (allowed.sampling)
    client.setRequestHandler('sampling/createMessage', ({ params }, { mcpReq }) => requestsOfCall().sample(params, mcpReq.signal))
  if (allowed.elicitation) client.setRequestHandler('elicitation/create', ({ params }) => requestsOfCall().cancelQuestion(params))
  return {
    /** Runs a call. Such requests do not name their call, so that calls run one at a time where requests are allowed. */
    during<T>(requests: ServerRequests, call: () => Promise<T>): Promise<T> {
      // Servers of the 2026 protocol ask in the result of the call.
      if (client.getProtocolEra() === 'modern' || (!allowed.sampling && !allowed.elicitation)) return call()
      return mutex.run(async () => {
        current = requests
        try {
          return await call()
        } finally {
          current = undefined
        }
      })
    },
  }
}

/** The capabilities that the client declares. Without a capability, requests are answered with "method not found". */
function toCapabilities({ sampling, elicitation }: AllowedRequests) {
  return { ...(sampling && { sampling: {} }), ...(elicitation && { elicitation: { form: {}, url: {} } }) }
}
