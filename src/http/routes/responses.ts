import type { FastifyInstance } from 'fastify'
import { accessTo } from '../../access/operations.ts'
import { sendFailure } from '../error-reply.ts'
import { outcomeOf } from '../open-chat.ts'
import { jsonOrEvents, openAiRefusals } from '../openai/replies.ts'
import { createResponse, type CreateServices } from '../openai/responses/create.ts'
import { streamResponse } from '../openai/responses/events.ts'
import { ResponseEvent, ResponseReply } from '../openai/responses/replies.ts'
import { ResponseBody } from '../openai/responses/request.ts'
import { openResponse, toResponse } from '../openai/responses/response.ts'
import { IdHeaders } from '../schemas.ts'
import { sendRun } from '../send-run.ts'

/** Chats in the form of OpenAI's responses. Errors have the shape of OpenAI's API. */
export function responseRoutes(app: FastifyInstance, services: CreateServices): void {
  app.post(
    '/v1/responses',
    {
      config: { access: accessTo.chat, errorShape: 'openai', hasSession: true, startsRun: true },
      schema: {
        tags: ['OpenAI'],
        summary: 'Chat, compatible with OpenAI’s responses',
        headers: IdHeaders,
        body: ResponseBody,
        response: {
          200: jsonOrEvents(ResponseReply, ResponseEvent, 'from `response.created` to `response.completed`, `.incomplete` or `.failed`.'),
          ...openAiRefusals(400, 401, 403, 404, 409, 410, 413, 415, 429, 500, 502, 503),
        },
      },
    },
    async (request, reply) => {
      const isStream = (request.body as ResponseBody).stream === true
      const { head, opening, isQueued } = await createResponse(services, { request, reply })
      if (isStream) return sendRun(reply, opening, { after: 0, render: (hasSchema) => streamResponse(head, { hasSchema }) })
      const chat = await opening.chat
      if (isQueued) return openResponse(head, 'queued')
      const { body, error } = await outcomeOf(chat)
      const { hasSchema, log } = chat.run
      return error ? sendFailure(reply, error) : toResponse(head, log.events.slice(), { hasSchema, files: body.generated_artifacts })
    },
  )
}
