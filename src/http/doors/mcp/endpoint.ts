import { createMcpHandler, localhostAllowedHostnames, validateOriginHeader, type McpRequestContext } from '@modelcontextprotocol/server'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { accessTo, PermissionError, permits, type Permission, type Principal } from '../../../access/permissions.ts'
import type { RequestLimits } from '../../../access/rate-limits.ts'
import { ServiceError } from '../../../errors.ts'
import { fieldsOf } from '../../../json/shape.ts'
import { sendEvents, toStreamHeaders } from '../../server/sse.ts'
import type { Caller } from '../protocols.ts'
import { createSessionId } from './call.ts'
import { createFormAnswers, type FormAnswers } from './forms.ts'
import { checkBatch, isRequest, joinResponses, requestOf, toRefusal, createCancellations } from './messages.ts'
import { createMcpServer, type Exchange, type McpServices } from './server.ts'
import { askName } from './tools.ts'

export interface McpEndpointOptions extends Omit<McpServices, 'forms'> {
  publicUrl: string | undefined
  limits: Pick<RequestLimits, 'take'>
  log: FastifyBaseLogger
}

/** The MCP endpoint. Each exchange gets a server of its own, so that callers share no state. */
export class McpEndpoint {
  private readonly options: McpEndpointOptions
  private readonly forms: FormAnswers
  private readonly cancellations = createCancellations()
  private readonly exchanges = new WeakMap<Request, Omit<Exchange, 'era'>>()
  private readonly handler: ReturnType<typeof createMcpHandler>
  private readonly origins: string[]

  constructor(options: McpEndpointOptions) {
    const { publicUrl, log } = options
    this.options = options
    const forms = (this.forms = createFormAnswers(options))
    const create = ({ requestInfo, era }: McpRequestContext) =>
      createMcpServer({ ...options, forms }, { ...this.exchanges.get(requestInfo!)!, era })
    this.handler = createMcpHandler(create, {
      // Proxies close silent responses after about a minute; keep-alive comments keep a stream open.
      responseMode: 'sse',
      // `sendEvents` writes the keep-alive comments of every stream.
      keepAliveMs: 0,
      onerror: (error) => log.debug({ err: error }, 'MCP message refused'),
    })
    this.origins = [...localhostAllowedHostnames(), ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])]
  }

  /** Answers the JSON-RPC message of a request, or a batch of messages. */
  async answer(caller: Caller, reply: FastifyReply): Promise<FastifyReply> {
    const { principal, request } = caller
    if (!request.server.corsOrigins.has(request.headers.origin ?? '')) refuseOrigin(request.headers.origin, this.origins)
    const messages: unknown[] = [request.body].flat()
    for (const message of messages) {
      const refusal = permissionErrorOf(message, principal)
      if (refusal) throw refusal
    }
    const isBatch = Array.isArray(request.body)
    if (isBatch) checkBatch(messages, request)
    // A call may take minutes: the library has its copy of the message, so do not keep the body.
    request.body = undefined
    return sendResponse(reply, isBatch ? this.answerBatch(messages, caller, reply) : await this.respond(messages[0], caller, reply))
  }

  /** Ends the open streams. */
  close(): Promise<void> {
    return this.handler.close()
  }

  private answerBatch(messages: readonly unknown[], caller: Caller, reply: FastifyReply): Response {
    const { limits, log } = this.options
    const respondTo = async (message: unknown, index: number) => {
      // Authentication has counted the request itself, which stands for the first message.
      const refusal = index > 0 ? limits.take(caller.principal) : undefined
      return refusal ? toRefusal(message, refusal) : this.respond(message, { ...caller, request: requestOf(caller.request, index) }, reply)
    }
    const responses = messages.map((message, index) =>
      respondTo(message, index).catch((error: unknown) => {
        log.error({ err: error }, 'unexpected failure')
        return toRefusal(message, new ServiceError('internal', 'Internal server error.'))
      }),
    )
    return joinResponses(responses, messages.some(isRequest))
  }

  private async respond(message: unknown, caller: Caller, reply: FastifyReply): Promise<Response> {
    const { principal, request, disconnected: clientGone } = caller
    this.cancellations.take(request, principal, message)
    if (await this.forms.take(message, principal, request.log)) return new Response(null, { status: 202 })
    const disconnected = this.cancellations.watch(request, principal, { message, signal: clientGone })
    const exchange = toFetchRequest(request, clientGone)
    const { method } = fieldsOf(message)
    // The library refuses a message whose method is no text.
    this.exchanges.set(exchange, { caller: { principal, request, disconnected }, method: typeof method === 'string' ? method : '' })
    if (method === 'initialize') void reply.header('mcp-session-id', createSessionId(message))
    return this.handler.fetch(exchange, { parsedBody: message })
  }
}

/** Refuses pages of other origins (DNS rebinding). Only browsers send an `origin` header. */
function refuseOrigin(origin: string | undefined, allowed: string[]): void {
  const { ok } = validateOriginHeader(origin, allowed)
  if (!ok)
    throw new ServiceError(
      'forbidden',
      'Pages of this origin must not call the service. PUBLIC_URL allows the own pages of the service, CORS_ORIGINS pages of other origins.',
    )
}

/** Converts a request for the MCP library. The body is parsed already, and access keys are not passed on. */
export function toFetchRequest({ headers, method }: FastifyRequest, signal: AbortSignal): Request {
  const mcpHeaders = Object.entries(headers).filter(([name]) => name === 'content-type' || name.startsWith('mcp-'))
  return new Request('http://agent.invalid/mcp', {
    method,
    headers: [['accept', acceptOf(headers.accept)], ...mcpHeaders.map(([name, value]): [string, string] => [name, String(value)])],
    signal,
  })
}

/** The library requires both media types by name; a wildcard includes both (RFC 9110, 12.5.1). */
function acceptOf(accept = '*/*'): string {
  const takesAny = accept.split(',').some((range) => range.split(';', 1)[0]!.trim() === '*/*')
  return takesAny ? 'application/json, text/event-stream' : accept
}

/** Sends the response of the library: JSON as one body, events with the back-pressure of `sendEvents`. */
export async function sendResponse(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  const { status, headers, body } = response
  if (!body || !headers.get('content-type')?.startsWith('text/event-stream')) {
    const text = await response.text()
    const type = headers.get('content-type')
    if (type !== null) void reply.header('content-type', type)
    return reply.code(status).send(text === '' ? undefined : JSON.parse(text))
  }
  reply.hijack()
  reply.raw.writeHead(status, toStreamHeaders(reply))
  reply.raw.flushHeaders()
  await sendEvents(reply.raw, body.pipeThrough(new TextDecoderStream()), reply.server.streamKeepAliveMs)
  return reply
}

/** Methods that need more than the permission to connect. */
const accessOf: Readonly<Record<string, readonly Permission[]>> = {
  /** The address of the resource says which permission is required. */
  'resources/read': [...accessTo.linkArtifact, ...accessTo.readDocument],
  'tasks/cancel': accessTo.cancelRun,
  'tasks/get': accessTo.readRun,
  'tasks/list': accessTo.readRun,
  'tasks/result': accessTo.readRun,
  'tasks/update': accessTo.decideCall,
}

/** The error for a message that the key does not permit; undefined for permitted messages. Checked before the library handles the message. */
export function permissionErrorOf(message: unknown, principal: Pick<Principal, 'permissions'>): Error | undefined {
  const { method, params } = fieldsOf(message)
  const isToolCall = method === 'tools/call' && fieldsOf(params)['name'] !== askName
  const needed = isToolCall
    ? accessTo.executeTool
    : typeof method === 'string' && Object.hasOwn(accessOf, method)
      ? accessOf[method]
      : undefined
  return needed === undefined || permits(principal, needed) ? undefined : new PermissionError(needed)
}
