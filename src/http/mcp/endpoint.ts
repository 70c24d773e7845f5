import { randomUUIDv7 } from 'node:crypto'
import { createMcpHandler, localhostAllowedHostnames, validateOriginHeader } from '@modelcontextprotocol/server'
import type { FastifyBaseLogger, FastifyReply } from 'fastify'
import { ServiceError } from '../../errors.ts'
import type { Caller } from '../protocol-caller.ts'
import { createCancellations } from './cancellations.ts'
import { sendResponse, toFetchRequest } from './exchange.ts'
import { createMcpServer, permissionErrorOf, type McpServices } from './server.ts'
import { fieldsOf } from '../../json/shape.ts'

export interface McpEndpointOptions extends McpServices {
  publicUrl: string | undefined
  log: FastifyBaseLogger
}

export interface McpEndpoint {
  /** Answers one JSON-RPC message. */
  answer(caller: Caller, reply: FastifyReply): Promise<FastifyReply>
  /** Ends the open streams. */
  close(): Promise<void>
}

/** Creates the MCP endpoint. Each exchange gets a server of its own, so that callers share no state. */
export function createMcpEndpoint({ publicUrl, log, ...services }: McpEndpointOptions): McpEndpoint {
  const callers = new WeakMap<Request, Caller>()
  const cancellations = createCancellations()
  const handler = createMcpHandler(({ requestInfo }) => createMcpServer(services, callers.get(requestInfo!)!), {
    // Proxies close silent responses after about a minute; keep-alive comments keep a stream open.
    responseMode: 'sse',
    // `sendEvents` writes the keep-alive comments of every stream.
    keepAliveMs: 0,
    onerror: (error) => log.debug({ err: error }, 'MCP message refused'),
  })
  const origins = [...localhostAllowedHostnames(), ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])]

  async function answer({ principal, request, disconnected: clientGone }: Caller, reply: FastifyReply): Promise<FastifyReply> {
    refuseOrigin(request.headers.origin, origins)
    const message = request.body
    const refusal = permissionErrorOf(message, principal)
    if (refusal) throw refusal
    cancellations.take(request, principal)
    const disconnected = cancellations.watch(request, principal, clientGone)
    const exchange = toFetchRequest(request, clientGone)
    callers.set(exchange, { principal, request, disconnected })
    if (fieldsOf(message)['method'] === 'initialize') void reply.header('mcp-session-id', randomUUIDv7())
    // A call may take minutes: the library has its copy of the message, so do not keep the body.
    request.body = undefined
    return sendResponse(reply, await handler.fetch(exchange, { parsedBody: message }))
  }

  return { answer, close: () => handler.close() }
}

/** Refuses pages of other origins (DNS rebinding). Only browsers send an `origin` header. */
function refuseOrigin(origin: string | undefined, allowed: string[]): void {
  const { ok } = validateOriginHeader(origin, allowed)
  if (!ok)
    throw new ServiceError(
      'forbidden',
      'Pages of this origin must not call the service. Set PUBLIC_URL to the address of the service to allow its own pages.',
    )
}
