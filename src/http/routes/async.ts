import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { accessTo } from '../../access/operations.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import type { Chats } from '../../runs/chat.ts'
import { principalOf } from '../authenticate.ts'
import { toNewChat } from '../chat-request.ts'
import { AsyncBody, ErrorReply, IdHeaders, refusals } from '../schemas.ts'
import { tellSession } from '../session-header.ts'

export interface AsyncRoutes {
  chats: Chats
  agent: CurrentAgent
}

const Acknowledgement = Type.Object({
  status: Type.Enum(['accepted']),
  id: Type.String({ description: 'Of the event.' }),
  request_id: Type.String(),
  session_id: Type.String(),
})

/** Where the chat stands in its envelope. */
const at = ['body', 'data']

/** A chat that is acknowledged at once and answered later. */
export function asyncRoutes(app: FastifyInstance, { chats, agent }: AsyncRoutes): void {
  app.post(
    '/core/v1/chain_async',
    {
      config: { access: accessTo.chat, hasSession: 'body', takesEvents: true },
      schema: {
        tags: ['Chat'],
        summary: 'An acknowledgement at once; the answer goes to callback_url, and stays readable as a run',
        consumes: ['application/json', 'application/cloudevents+json'],
        headers: IdHeaders,
        body: AsyncBody,
        response: {
          200: Acknowledgement,
          ...{ 400: ErrorReply, 409: ErrorReply, 410: ErrorReply },
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const { id, source, data } = request.body as AsyncBody
      const event = { source, id, callbackUrl: data.callback_url ?? undefined }
      const accepted = await chats.accept(principalOf(request), event, () =>
        toNewChat(request, 'chain_async', agent().config.limits.max_input_characters, { body: data, at }),
      )
      tellSession(request, reply, accepted.sessionId)
      if (request.headers['request-id'] === undefined) void reply.header('request-id', accepted.requestId)
      return { status: 'accepted', id, request_id: accepted.requestId, session_id: accepted.sessionId }
    },
  )
}
