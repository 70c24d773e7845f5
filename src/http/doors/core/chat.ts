import { Type } from 'typebox'
import { accessTo } from '../../../access/permissions.ts'
import type { App } from '../../server/app.ts'
import { sendFailure } from '../../server/error-reply.ts'
import { openChat, outcomeOf, type ChatServices } from './open-chat.ts'
import { toWaitingFields } from '../../../runs/approvals/approval-view.ts'
import {
  ApprovalAnswer,
  ChainAnswer,
  ChatBody,
  ClientToolAnswer,
  ErrorReply,
  eventStream,
  IdHeaders,
  refusals,
} from '../../resources/schemas.ts'
import { lastEventHeader, lastEventNumber, nameRepeatedRequest, sendRun } from '../../send-run.ts'
import { streamChunks } from './projection.ts'

/** Chats that wait for their answer: as JSON, or as server-sent events. */
export function chatRoutes(app: App, services: ChatServices): void {
  app.post(
    '/core/v1/chain',
    {
      config: { access: accessTo.chat, hasSession: 'body', startsRun: true, validationShape: 'error' },
      schema: {
        tags: ['Chat'],
        summary: 'Chat, with the answer as JSON',
        headers: IdHeaders,
        body: ChatBody,
        response: {
          200: ChainAnswer,
          202: Type.Union([ApprovalAnswer, ClientToolAnswer], { description: 'Tool calls wait for approval, or for the client.' }),
          400: ErrorReply,
          409: ErrorReply,
          410: ErrorReply,
          502: ErrorReply,
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const chat = await openChat(services, { request, reply, operation: 'chain' }).chat
      const { body, end, error } = await outcomeOf(chat)
      if (error) return sendFailure(reply, error)
      if (end.type === 'end') return { body }
      return reply.code(202).send({ body, ...toWaitingFields(chat.run.requestId, end.calls) })
    },
  )

  app.post(
    '/core/v1/chain_streaming',
    {
      config: { access: accessTo.chat, hasSession: 'body', startsRun: true },
      schema: {
        tags: ['Chat'],
        summary: 'Chat, with the answer as server-sent events',
        headers: Type.Object({ ...IdHeaders.properties, ...lastEventHeader }),
        body: ChatBody,
        response: {
          200: eventStream,
          204: Type.Null({ description: 'A repeat: the run has ended, and `last-event-id` is its last event.' }),
          400: ErrorReply,
          409: ErrorReply,
          410: ErrorReply,
          502: ErrorReply,
          ...refusals,
        },
      },
      preValidation: (request, reply, done) => {
        nameRepeatedRequest(request, reply)
        done()
      },
    },
    async (request, reply) => {
      const after = lastEventNumber(request, request.id)
      const opening = openChat(services, { request, reply, operation: 'chain_streaming' })
      return sendRun(reply, opening, { after, render: () => streamChunks(request.id) })
    },
  )
}
