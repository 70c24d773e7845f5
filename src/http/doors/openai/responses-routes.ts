import type { FastifyInstance, FastifySchema } from 'fastify'
import { accessTo } from '../../../access/permissions.ts'
import { ServiceError } from '../../../errors.ts'
import { sendFailure } from '../../server/error-reply.ts'
import { outcomeOf } from '../core/open-chat.ts'
import { jsonOrEvents, openAiRefusals } from './replies.ts'
import { createResponse, type CreateServices } from './responses/create.ts'
import { lastReceived } from '../../../runs/parts.ts'
import { streamResponse } from './responses/projection.ts'
import { ResponseEvent, ResponseReply } from './responses/replies.ts'
import { ResponseBody } from './responses/request.ts'
import { openResponse, toResponse } from './responses/response.ts'
import { IdHeaders } from '../../resources/schemas.ts'
import { sendRun } from '../../send-run.ts'

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
      if (isStream)
        return sendRun(reply, opening, { after: lastReceived(head.part), render: (hasSchema) => streamResponse(head, { hasSchema }) })
      const chat = await opening.chat
      if (isQueued) return openResponse(head, 'queued')
      const { body, error } = await outcomeOf(chat)
      const { hasSchema, log } = chat.run
      return error ? sendFailure(reply, error) : toResponse(head, log.events.slice(), { hasSchema, files: body.generated_artifacts })
    },
  )
  for (const [operation, reason] of Object.entries(notOffered)) refuseOperation(app, `/v1/responses/${operation}`, reason)
}

/** Operations of OpenAI's API on no single response. Their names would be read as ids of responses. */
const notOffered = {
  compact: 'the service summarizes long conversations itself',
  input_tokens: 'the `usage` of a response has its tokens',
}

/** `hide` keeps the refusal out of the OpenAPI document. */
const hidden: FastifySchema = { hide: true }

/** The hook refuses the request before its body is read. */
function refuseOperation(app: FastifyInstance, url: string, reason: string): void {
  app.route({
    method: ['GET', 'POST', 'DELETE'],
    url,
    exposeHeadRoute: false,
    schema: hidden,
    config: { access: 'public', errorShape: 'openai' },
    onRequest: async () => {
      throw new ServiceError('not_found', `${url} is not offered: ${reason}.`)
    },
    handler: async () => undefined,
  })
}
