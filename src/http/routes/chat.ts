import type { FastifyInstance } from 'fastify'
import { sendFailure } from '../error-reply.ts'
import { openChat, outcomeOf, type ChatDoor } from '../open-chat.ts'
import { ChainAnswer, ChatBody, ErrorReply, eventStream, IdHeaders, refusals } from '../schemas.ts'
import { sendRun } from '../send-run.ts'

/** The three ways to chat. */
export function chatRoutes(app: FastifyInstance, door: ChatDoor): void {
  app.post(
    '/core/v1/chain',
    {
      config: { access: 'chat', hasSession: 'body', validationShape: 'error' },
      schema: {
        tags: ['Chat'],
        summary: 'One JSON answer',
        headers: IdHeaders,
        body: ChatBody,
        response: { 200: ChainAnswer, 400: ErrorReply, 409: ErrorReply, 410: ErrorReply, 502: ErrorReply, ...refusals },
      },
    },
    async (request, reply) => {
      const { answer, error } = await outcomeOf(await openChat(door, { request, reply, operation: 'chain' }))
      return error ? sendFailure(reply, error) : { body: answer }
    },
  )

  app.post(
    '/core/v1/chain_streaming',
    {
      config: { access: 'chat', hasSession: 'body' },
      schema: {
        tags: ['Chat'],
        summary: 'The answer as server-sent events',
        headers: IdHeaders,
        body: ChatBody,
        response: {
          200: eventStream,
          ...{ 400: ErrorReply, 409: ErrorReply, 410: ErrorReply, 502: ErrorReply },
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const { run, left } = await openChat(door, { request, reply, operation: 'chain_streaming' })
      return sendRun(reply, run, { after: 0, left })
    },
  )
}
