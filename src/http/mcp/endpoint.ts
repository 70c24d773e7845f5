import { randomUUIDv7 } from 'node:crypto'
import { createMcpHandler, localhostAllowedHostnames, validateOriginHeader } from '@modelcontextprotocol/server'
import type { FastifyBaseLogger, FastifyReply } from 'fastify'
import { ServiceError } from '../../errors.ts'
import type { Caller } from '../protocol-caller.ts'
import { createCancellations } from './cancellations.ts'
import { sendResponse, toFetchRequest } from './exchange.ts'
import { createMcpServer, permissionErrorOf, type McpServices } from './server.ts'
import { fieldsOf } from '../../json/is-object.ts'

export interface McpEndpointOptions extends McpServices {
  publicUrl: string | undefined
  log: FastifyBaseLogger
}

export interface McpEndpoint {
  /** Answers one message of JSON-RPC. */
  answer(caller: Caller, reply: FastifyReply): Promise<FastifyReply>
  /** Ends the streams that are open. */
  close(): Promise<void>
}

/** Every exchange has a server of its own, made for its caller: there is nothing that two of them could share by mistake. */
export function createMcpEndpoint({ publicUrl, log, ...services }: McpEndpointOptions): McpEndpoint {
  const callers = new WeakMap<Request, Caller>()
  const cancellations = createCancellations()
  const handler = createMcpHandler(({ requestInfo }) => createMcpServer(services, callers.get(requestInfo!)!), {
    // A proxy gives up an answer of which it hears nothing for a minute; a stream has its comments.
    responseMode: 'sse',
    // They are written by us, for every stream.
    keepAliveMs: 0,
    onerror: (error) => log.debug({ err: error }, 'refused by the protocol'),
  })
  const origins = [...localhostAllowedHostnames(), ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])]

  async function answer({ principal, request, disconnected: gone }: Caller, reply: FastifyReply): Promise<FastifyReply> {
    refuseOrigin(request.headers.origin, origins)
    const message = request.body
    const refusal = permissionErrorOf(message, principal)
    if (refusal) throw refusal
    cancellations.take(request, principal)
    const disconnected = cancellations.watch(request, principal, gone)
    const exchange = toFetchRequest(request, gone)
    callers.set(exchange, { principal, request, disconnected })
    if (fieldsOf(message)['method'] === 'initialize') void reply.header('mcp-session-id', randomUUIDv7())
    // A call may take minutes: the library has what it needs of the message.
    request.body = undefined
    return sendResponse(reply, await handler.fetch(exchange, { parsedBody: message }))
  }

  return { answer, close: () => handler.close() }
}

/** Only browsers name an origin; a page that is not ours has no business here, whatever name it has given our address. */
function refuseOrigin(origin: string | undefined, allowed: string[]): void {
  const { ok } = validateOriginHeader(origin, allowed)
  if (!ok) throw new ServiceError('forbidden', 'Pages of this origin may not call the service; PUBLIC_URL says where it is.')
}
