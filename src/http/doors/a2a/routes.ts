import { replies, route, IdHeaders, optionalText } from '../../schemas/shared.ts'
import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { accessTo } from '../../../access/permissions.ts'
import { principalOf } from '../../server/authenticate.ts'
import type { A2aServices } from './task-runs.ts'
import { rpcErrors } from '../protocols.ts'
import { disconnectSignal } from '../../reader.ts'

const question = 'What were the total sales by region?'

const Json = Type.Record(Type.String(), Type.Unknown())

/** Cache time in seconds: the longest delay until clients see a change of the configuration or of a tool's state. */
const cardMaxAgeSeconds = 60

/** Two versions of the card, before and after a change. */
const maxCards = 4

const cacheHeaders = { 'cache-control': { type: 'string' }, etag: { type: 'string' }, 'last-modified': { type: 'string' } }

const Message = Type.Object(
  {},
  {
    description: 'A JSON-RPC 2.0 request of the Agent2Agent protocol: `jsonrpc`, `id`, `method`, `params`.',
    additionalProperties: true,
  },
)

export const A2aHeaders = Type.Object({
  ...IdHeaders.properties,
  'a2a-version': optionalText('The protocol version. Absent means 0.3, which `/a2a` alone accepts.'),
})

const answers = {
  description: 'A JSON-RPC response; for `SendStreamingMessage` and `SubscribeToTask` server-sent events with one response in each `data`.',
  content: { 'application/json': { schema: Json }, 'text/event-stream': { schema: Json } },
}

/** The agent for other agents: A2A 1.0 over JSON-RPC. The A2A library is loaded with the first request. */
export function a2aRoutes(app: FastifyInstance, services: A2aServices): void {
  cardRoute(app, services)
  app.post(
    '/a2a',
    // The A2A SDK also sends JSON-RPC errors with status 200.
    route({ access: accessTo.chat, errorShape: rpcErrors(200), maxBodyBytes: Infinity }, 'Protocols', {
      summary: 'The agent for other agents (A2A 1.0)',
      text: `JSON-RPC of the Agent2Agent protocol 1.0: \`SendMessage\`, \`SendStreamingMessage\`, \`GetTask\`, \`ListTasks\`, \`CancelTask\`, \`SubscribeToTask\`, \`GetExtendedAgentCard\`, and \`Create\`, \`Get\`, \`List\` and \`DeleteTaskPushNotificationConfig\`. The routes under \`/a2a/v1\` are the same operations with HTTP and JSON. A task is a run, a context a session. The header is \`a2a-version: 1.0\`; without it, requests are of version 0.3, with methods such as \`message/send\`. Errors of the protocol have the status 200 and an \`error\`.`,
      parameters: { 'a2a-version': '1.0' },
      prefilled: ['a2a-version'],
      examples: {
        message: {
          summary: 'A question',
          value: {
            jsonrpc: '2.0',
            id: 1,
            method: 'SendMessage',
            params: { message: { messageId: 'example-1', role: 'ROLE_USER', parts: [{ text: question }] } },
          },
        },
      },
      headers: A2aHeaders,
      body: Message,
      response: replies({ 200: answers }, 409),
    }),
    async (request, reply) => {
      const { answerRpc } = await import('./endpoint.ts')
      return answerRpc(services, { principal: principalOf(request), request, disconnected: disconnectSignal(reply) }, reply)
    },
  )
}

function cardRoute(app: FastifyInstance, services: A2aServices): void {
  /** The times at which this process first sent its cards, by etag: one of each version. */
  const sentCards = new Map<string, string>()
  app.get(
    '/.well-known/agent-card.json',
    route('public', 'Protocols', {
      summary: 'The agent card (A2A 1.0)',
      text: 'What other agents read first: name, skills, addresses of the two A2A bindings and how to authenticate. It needs no key and may be cached for a minute; `if-none-match` with the `etag` is answered with 304.',
      headers: Type.Pick(A2aHeaders, ['a2a-version']),
      response: {
        200: { ...Json, headers: cacheHeaders },
        304: { type: 'null', description: 'The card has not changed since `if-none-match`.' },
      },
    }),
    async (request, reply) => {
      const card = (await import('./card.ts')).cardOf(services.agent(), services, request)
      const etag = `"${hash('sha256', JSON.stringify(card))}"`
      const lastModified = sentCards.get(etag) ?? new Date().toUTCString()
      sentCards.set(etag, lastModified)
      // Cards before the last change are forgotten.
      for (const oldest of [...sentCards.keys()].slice(0, -maxCards)) sentCards.delete(oldest)
      const cacheControl = `public, max-age=${cardMaxAgeSeconds}`
      void reply.headers({ 'cache-control': cacheControl, vary: 'a2a-version', etag, 'last-modified': lastModified })
      return isUnchanged(request.headers['if-none-match'], etag) ? reply.code(304).send() : card
    },
  )
}

/** `if-none-match` lists tags or is `*`; tags are compared weakly (RFC 9110, 13.1.2). */
function isUnchanged(condition: string | undefined, etag: string): boolean {
  const tags = condition?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? []
  return tags.includes(etag) || tags.includes('*')
}
