import { route, IdHeaders, refusals } from '../../schemas/shared.ts'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { accessTo } from '../../../access/permissions.ts'
import type { RequestLimits } from '../../../access/rate-limits.ts'
import { principalOf } from '../../server/authenticate.ts'
import { rpcErrors, RpcError } from '../protocols.ts'
import type { McpEndpoint } from './endpoint.ts'
import { maxBatch } from './messages.ts'
import type { ResourceMetadata } from './resource-metadata.ts'
import type { McpServices } from './server.ts'
import { contentBytes } from '../../server/read-bodies.ts'
import { disconnectSignal } from '../../reader.ts'

const question = 'What were the total sales by region?'

export interface McpRouteServices extends Omit<McpServices, 'forms'> {
  /** `PUBLIC_URL`, the address of the service for browsers. */
  publicUrl: string | undefined
  limits: Pick<RequestLimits, 'take'>
  /** Undefined: OAuth clients cannot find the identity provider. */
  metadata: ResourceMetadata | undefined
}

const Message = Type.Object(
  { jsonrpc: Type.Literal('2.0') },
  {
    description:
      'A JSON-RPC message of the Model Context Protocol: a request with `id`, `method` and `params`, or a notification without `id`.',
    additionalProperties: true,
  },
)

const Body = Type.Union([
  Message,
  Type.Array(Message, { description: `A batch of 1 to ${maxBatch} messages, in revision 2025-03-26 alone.` }),
])

const Json = Type.Record(Type.String(), Type.Unknown())

const answers = {
  description: 'A JSON-RPC response; server-sent events with one message in each `data` when the request takes time.',
  content: { 'text/event-stream': { schema: Json }, 'application/json': { schema: Json } },
}

/**
 * The agent and its tools for clients of the Model Context Protocol, over Streamable HTTP. The library takes a third of a second and 30 MB to
 * load, so it is loaded with the first request.
 */
export function mcpRoutes(app: FastifyInstance, { metadata, ...services }: McpRouteServices): void {
  let opening: Promise<McpEndpoint> | undefined
  const open = () => (opening ??= import('./endpoint.ts').then((endpoint) => new endpoint.McpEndpoint({ ...services, log: app.log })))
  app.addHook('preClose', async () => (await opening)?.close())

  app.post(
    '/mcp',
    // Streamable HTTP requires status 400 for a message that cannot be accepted.
    route(
      {
        access: accessTo.chat,
        errorShape: rpcErrors(400),
        maxBodyBytes: contentBytes,
        ...(metadata && { challengeOf: metadata.challengeOf }),
      },
      'Protocols',
      {
        summary: 'The agent and its tools for clients of the Model Context Protocol',
        text: `Streamable HTTP of the Model Context Protocol, without sessions of the transport: revisions 2024-11-05 to 2025-11-25, and 2026-07-28. Clients see:

- the tool \`ask\` (\`{message, session_id?}\`), which asks the agent, also as a task;
- with the permission \`tools.execute\`, the agent's own tools, and where the agent searches documents, \`search\` (\`{query}\`) and \`fetch\` (\`{id}\`) for connectors of ChatGPT;
- the conversation starters as prompts;
- with the permission \`artifacts.read\`, own files as resources.

Use an MCP client with the address \`<address>/mcp\` and the key as a bearer token; the example shows one message. With an identity provider, a client without a token finds the provider from \`www-authenticate\`.

A request is answered as JSON, or as server-sent events while it takes time; a notification is 202. 400: the message is not valid. 406: \`accept\` must name \`application/json\` and \`text/event-stream\`. A JSON-RPC error has the status 200.`,
        examples: {
          list: { summary: 'List the tools', value: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
          ask: {
            summary: 'Ask the agent',
            value: { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'ask', arguments: { message: question } } },
          },
        },
        headers: IdHeaders,
        body: Body,
        response: { 200: answers, 202: Type.Null(), 400: RpcError, 406: RpcError, ...refusals },
      },
    ),
    async (request, reply) =>
      (await open()).answer({ principal: principalOf(request), request, disconnected: disconnectSignal(reply) }, reply),
  )
}
