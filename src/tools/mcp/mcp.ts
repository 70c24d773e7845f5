import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { serverKey } from '../../configuration/tool-pins/pin-store.ts'
import type { ToolDependencies, ToolGroup, ToolSpec } from '../builder.ts'
import { toLine } from '../plain-text.ts'
import { callServerTool } from './call.ts'
import { defaultTiming, openConnection, type Connection, type Timing } from './connection.ts'
import { connectAfterLogin } from './login/after-login.ts'
import { findLoginRequired } from './login/logins.ts'
import { openSession } from './open-session.ts'
import { openPins } from './pins.ts'
import { createResourceTools } from './resource-tools.ts'
import { toServer, type McpConfig, type Server } from './server.ts'
import { createToolList } from './tool-list.ts'

/** Interval of the check whether changed tools have been accepted. */
const pinPollMs = 2000

/** The tool type `mcp`: the tools of one MCP server, at an address or started as a command. Rejects with a reason for an operator. */
export async function createMcp(spec: ToolSpec, deps: ToolDependencies, timing: Timing = defaultTiming): Promise<ToolGroup> {
  const config = spec.config as McpConfig
  const server = toServer(config, deps)
  const { secrets } = server
  const log = deps.log.child({ server: spec.name })
  const pins = config.pin ? openPins({ store: deps.pins, cacheDir: deps.cacheDir, entry: spec.name, server: config }) : undefined
  const allowed = { sampling: config.sampling === 'allow', elicitation: config.elicitation === 'allow' }
  const logins = { store: deps.logins, key: { entry: spec.name, server: serverKey(config) } }
  let connection: Connection | undefined
  const list = createToolList({
    spec,
    config,
    secrets,
    log,
    ...(pins && { pins }),
    execute: (tool, traits, input, context) =>
      callServerTool(tool, { entry: spec.name, connection: connection!, secrets, allowed, traits, input, context }),
    ...(config.resources && { resourceTools: createResourceTools({ spec, connection: () => connection!, secrets }) }),
  })
  const connect = () =>
    openConnection({
      open: (events, signal) =>
        openSession(server, { outbound: deps.outbound, logins, allowed, timeoutMs: spec.timeoutMs }, events, signal),
      onTools: (listing) => list.update(listing),
      reasonOf: (error) => reasonOf(error, server),
      isPolled: server.kind === 'remote',
      log,
      timing,
      ...(deps.signal && { signal: deps.signal }),
    })
  connection = await connectAfterLogin(connect, { logins, log, timing })
  const pinPolling = pins && setInterval(() => void pollPins().catch((err: unknown) => log.warn({ err }, 'Pins cannot be read')), pinPollMs)
  pinPolling?.unref()

  async function pollPins(): Promise<void> {
    if (list.refused().length > 0 && (await pins?.isModified())) await list.recheck()
  }

  return {
    tools: list.tools,
    refused: list.refused,
    unavailableReason: connection.unavailableReason,
    async close() {
      clearInterval(pinPolling)
      await connection.close()
    },
  }
}

const maxCharacters = 300

/** The reason why a server cannot be used, as a sentence for an operator, without secrets and with only a short excerpt of the server's text. */
function reasonOf(error: unknown, server: Server): string {
  return server.secrets.hide(toLine(toWords(error, server), maxCharacters))
}

function toWords(error: unknown, server: Server): string {
  const login = findLoginRequired(error)
  if (login) return login.message
  const status = error instanceof UnauthorizedError ? 401 : error instanceof SdkHttpError ? error.status : undefined
  if ((status === 401 || status === 403) && !hasCredentials(server))
    return `The server requires credentials (${status}): set headers or oauth.`
  if (status === 401 || status === 403) return `The server refused the credentials (${status}).`
  if (error instanceof InsufficientScopeError) return toScopeWords(error)
  if (error instanceof SdkHttpError) return toStatusWords(error)
  // The probe for the newest protocol wraps the error of the transport.
  if (error instanceof SdkError && error.cause instanceof Error) return toWords(error.cause, server)
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) return 'The server did not answer in time.'
  if (error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed) return 'The server closed the connection.'
  if (error instanceof ProtocolError) return `The server answered with an error: ${error.message}`
  if (!(error instanceof Error)) return 'The server cannot be used.'
  if (error.name === 'TimeoutError') return 'The server did not answer in time.'
  return error.message === 'fetch failed' ? `The server cannot be reached: ${causeOf(error)}.` : error.message
}

function hasCredentials(server: Server): boolean {
  return server.kind === 'remote' && (server.oauth !== undefined || Object.keys(server.headers).length > 0)
}

function toScopeWords({ requiredScope }: InsufficientScopeError): string {
  const scopes = requiredScope === undefined ? 'other scopes' : `the scopes ${toLine(requiredScope, 120)}`
  return `The server requires ${scopes} for this request (403), which the token of oauth does not have.`
}

function toStatusWords({ status, data, message }: SdkHttpError): string {
  if (status === 404) return 'There is no MCP server at this address (404).'
  // Only the message of the error contains the target of the redirect.
  if (status !== undefined && status >= 300 && status < 400) return `The server redirects (${status}): ${message.replace(/^.*?: /, '')}`
  const excerpt = typeof data?.text === 'string' ? `: ${toLine(data.text, 120)}` : ''
  return `The server answered with status ${status}${excerpt}`
}

function causeOf({ cause }: Error): string {
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause
  return inner instanceof Error && inner.message ? inner.message : 'the connection failed'
}
