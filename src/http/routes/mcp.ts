import { randomUUIDv7 } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { createMcpHandler, localhostAllowedHostnames, validateOriginHeader } from '@modelcontextprotocol/server'
import { Type } from 'typebox'
import { ServiceError } from '../../errors.ts'
import { principalOf } from '../authenticate.ts'
import { whenLeft } from '../leaving.ts'
import { asObject, type Caller } from '../mcp/caller.ts'
import { createCancellations } from '../mcp/cancellations.ts'
import { sendResponse, toFetchRequest } from '../mcp/exchange.ts'
import { createMcpServer, refusalOf, type McpDoors } from '../mcp/server.ts'
import { ErrorReply, IdHeaders, refusals } from '../schemas.ts'

export interface McpRoutes extends McpDoors {
  /** Where browsers reach the service, when that is known. */
  publicUrl: string | undefined
}

/** One message of JSON-RPC 2.0; its methods are those of the protocol. */
const Message = Type.Object({ jsonrpc: Type.Literal('2.0') }, { description: 'A JSON-RPC message of the Model Context Protocol.' })

const answers = {
  description: 'The answer, as a message of JSON-RPC: in a stream of server-sent events where it takes time.',
  content: { 'text/event-stream': { schema: Type.String() }, 'application/json': { schema: Type.Record(Type.String(), Type.Unknown()) } },
}

/** The agent and its tools for clients of the Model Context Protocol, over Streamable HTTP. */
export function mcpRoutes(app: FastifyInstance, { publicUrl, ...doors }: McpRoutes): void {
  const callers = new WeakMap<Request, Caller>()
  const cancellations = createCancellations()
  const handler = createMcpHandler(({ requestInfo }) => createMcpServer(doors, callers.get(requestInfo!)!), {
    // A proxy gives up an answer of which it hears nothing for a minute; a stream has its comments.
    responseMode: 'sse',
    // They are written by us, for every stream.
    keepAliveMs: 0,
    onerror: (error) => app.log.debug({ err: error }, 'refused by the protocol'),
  })
  app.addHook('preClose', () => handler.close())
  const origins = [...localhostAllowedHostnames(), ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])]

  app.post(
    '/mcp',
    {
      config: { access: 'chat' },
      schema: {
        tags: ['Protocols'],
        summary: 'The agent and its tools for clients of the Model Context Protocol',
        headers: IdHeaders,
        body: Message,
        response: { 200: answers, 202: Type.Null(), 400: ErrorReply, ...refusals },
      },
      onRequest: async (request) => refuseOrigin(request, origins),
    },
    async (request, reply) => {
      const principal = principalOf(request)
      const refusal = refusalOf(request.body, principal)
      if (refusal) throw refusal
      cancellations.take(request, principal)
      const gone = whenLeft(reply)
      const left = cancellations.watch(request, principal, gone)
      const exchange = toFetchRequest(request, gone)
      callers.set(exchange, { principal, request, left })
      if (asObject(request.body)['method'] === 'initialize') void reply.header('mcp-session-id', randomUUIDv7())
      return sendResponse(reply, await handler.fetch(exchange, { parsedBody: request.body }))
    },
  )
}

/** Only browsers name an origin; a page that is not ours has no business here, whatever name it has given our address. */
function refuseOrigin({ headers }: FastifyRequest, allowed: string[]): void {
  const { ok } = validateOriginHeader(headers.origin, allowed)
  if (!ok) throw new ServiceError('forbidden', 'Pages of this origin may not call the service; PUBLIC_URL says where it is.')
}
