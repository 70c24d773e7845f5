import {
  type ContentBlock,
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import { serverKey } from '../../configuration/mcp/pin-store.ts'
import { isObject } from '../../json/shape.ts'
import { createTool, inputSchema, type ToolDependencies, type ToolGroup, type ToolSpec } from '../builder.ts'
import { toLine } from '../plain-text.ts'
import { callServerTool, metaOf, toOutput } from './call.ts'
import { defaultTiming, openConnection, type Connection, type Timing } from './connection.ts'
import { connectAfterLogin } from './login/after-login.ts'
import { findLoginRequired } from './login/logins.ts'
import { openSession } from './open-session.ts'
import { openPins } from './pins.ts'
import { toServer, type McpConfig, type Secrets, type Server } from './server.ts'
import type { ResourceRequest } from './session.ts'
import { ToolList } from './tool-list.ts'

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
  const list = new ToolList({
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

interface ResourceToolOptions {
  spec: ToolSpec
  connection(): Connection
  secrets: Pick<Secrets, 'mask'>
}

/** Tools that list and read the resources of a server: files, records and pages that the server names by URIs. */
function createResourceTools({ spec, connection, secrets }: ResourceToolOptions): Tool[] {
  async function request(method: ResourceRequest['method'], params: ResourceRequest['params'], context: ToolContext) {
    const answer = { method, params, meta: metaOf(context), signal: context.signal, timeoutMs: spec.timeoutMs }
    return secrets.mask(await connection().resources(answer))
  }

  async function list({ cursor }: JsonObject, context: ToolContext): Promise<JsonValue> {
    const page = await request('resources/list', typeof cursor === 'string' ? { cursor } : {}, context)
    const resources = entriesOf(page['resources'], 'uri')
    const nextCursor: JsonObject = typeof page['nextCursor'] === 'string' ? { next_cursor: page['nextCursor'] } : {}
    if (cursor !== undefined) return { resources, ...nextCursor }
    // A server without templates may answer with an error.
    const templates = await request('resources/templates/list', {}, context).catch(() => ({ resourceTemplates: [] }))
    return { resources, templates: entriesOf(Object(templates)['resourceTemplates'], 'uriTemplate'), ...nextCursor }
  }

  async function read({ uri }: JsonObject, context: ToolContext): Promise<JsonValue> {
    const { contents } = await request('resources/read', { uri: String(uri) }, context)
    if (!Array.isArray(contents)) throw new Error('The server did not answer with a resource.')
    const blocks = contents.flatMap((content) => (isObject(content) ? [toBlock(content)] : []))
    if (blocks.length === 0) throw new Error('The resource is empty.')
    return toOutput({ content: blocks }, context.artifact, spec.maxOutputCharacters)
  }

  const own = (name: string): ToolSpec => ({ ...withoutTraits(spec), name: `${spec.name}__${name}` })
  return [
    createTool(own('list_resources'), {
      description: `Lists the resources that the server ${spec.name} offers, with their URIs, and templates of URIs.`,
      schema: inputSchema({ cursor: { type: 'string', description: 'The next_cursor of the page before.' } }),
      effect: 'read',
      execute: list,
    }),
    createTool(own('read_resource'), {
      description: `Reads a resource of the server ${spec.name}. ${spec.name}__list_resources has the URIs.`,
      schema: inputSchema(
        { uri: { type: 'string', minLength: 1, maxLength: 2000, description: 'The URI, listed or made from a template.' } },
        ['uri'],
      ),
      effect: 'read',
      execute: read,
    }),
  ]
}

/** The effect of the entry describes the tools of the server, and its description all of them. */
function withoutTraits({ name, timeoutMs, maxOutputCharacters, marks, config }: ToolSpec): ToolSpec {
  return { name, timeoutMs, maxOutputCharacters, ...(marks && { marks }), config }
}

const maxText = 300

function entriesOf(list: unknown, key: 'uri' | 'uriTemplate'): JsonObject[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((entry): JsonObject[] => {
    const { [key]: uri, name, title, description, mimeType, size } = Object(entry) as Record<string, unknown>
    if (typeof uri !== 'string') return []
    const texts = Object.entries({ name: title ?? name, description, media_type: mimeType })
    const shown = texts.flatMap(([field, text]) => (typeof text === 'string' && text !== '' ? [[field, toLine(text, maxText)]] : []))
    const uriField = key === 'uri' ? 'uri' : 'uri_template'
    return [{ [uriField]: uri, ...Object.fromEntries(shown), ...(typeof size === 'number' && { size }) }]
  })
}

/** Text is given to the model as it stands; binary content becomes a file. */
function toBlock({ uri, mimeType, text, blob }: Record<string, unknown>): ContentBlock {
  if (typeof text === 'string') return { type: 'text', text }
  const type = typeof mimeType === 'string' ? { mimeType } : {}
  return { type: 'resource', resource: { uri: String(uri), ...type, blob: typeof blob === 'string' ? blob : '' } }
}
