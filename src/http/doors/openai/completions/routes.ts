import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { accessTo } from '../../../../access/permissions.ts'
import { principalOf } from '../../../server/authenticate.ts'
import type { ChatSource } from '../../core/chat-request.ts'
import { sendFailure } from '../../../server/error-reply.ts'
import { openChat, outcomeOf, type ChatServices } from '../../core/open-chat.ts'
import { toAnswerFormat } from '../answer-format.ts'
import { lastReceived, wholeRun } from '../../../../runs/parts.ts'
import { answerRun, openAnswered, type OutputServices } from '../answered-run.ts'
import { streamCompletion, toCompletion, type CompletionHead } from './projection.ts'
import { toCompletionChat, type CompletionChat } from './messages.ts'
import { refuseWithoutEffect, toModelOptions, toTools } from './options.ts'
import { CompletionBody } from './schemas.ts'
import { refuseOtherModel } from '../model-names.ts'
import { toInstructions } from '../parameters.ts'
import { ChatCompletion, ChatCompletionChunk, jsonOrEvents, openAiRefusals } from '../replies.ts'
import type { Opening } from '../../../reader.ts'
import { IdHeaders } from '../../../resources/schemas.ts'
import { sendRun } from '../../../send-run.ts'

export type CompletionServices = ChatServices & OutputServices

/** Chats in the form of OpenAI's chat completions. Errors have the shape of OpenAI's API. */
export function chatCompletionRoutes(app: FastifyInstance, services: CompletionServices): void {
  app.post(
    '/v1/chat/completions',
    {
      config: { access: accessTo.chat, errorShape: 'openai', hasSession: true, startsRun: true },
      schema: {
        tags: ['OpenAI'],
        summary: 'Chat, compatible with OpenAI’s chat completions',
        headers: IdHeaders,
        body: CompletionBody,
        response: {
          200: jsonOrEvents(ChatCompletion, ChatCompletionChunk, '`chat.completion.chunk`s, then `[DONE]`.'),
          ...openAiRefusals(400, 401, 403, 404, 409, 410, 413, 415, 429, 500, 502, 503),
        },
      },
    },
    async (request, reply) => {
      const { opening, head, stream, withUsage } = await openCompletion(services, request, reply)
      if (stream) {
        const render = (hasSchema: boolean) => streamCompletion(head, { withUsage, hasSchema })
        return sendRun(reply, opening, { after: lastReceived(head.part), render })
      }
      const chat = await opening.chat
      const { body, error } = await outcomeOf(chat)
      return error ? sendFailure(reply, error) : toCompletion(head, body, chat.run)
    },
  )
}

interface OpenCompletion {
  opening: Opening
  head: CompletionHead
  stream: boolean
  withUsage: boolean
}

/** Reads the body, so that the handler, which waits for the run, does not keep megabytes of images alive. */
async function openCompletion(services: CompletionServices, request: FastifyRequest, reply: FastifyReply): Promise<OpenCompletion> {
  const body = request.body as CompletionBody
  const { config } = services.agent()
  refuseWithoutEffect(body, config)
  refuseOtherModel(body.model, config)
  const chat = toCompletionChat(body.messages, ['body', 'messages'])
  const format = toAnswerFormat(body.response_format, ['body', 'response_format'])
  const source = toSource(body, chat, services)
  const formatted = format ? { ...source, body: { ...source.body, response_schema: format.response_schema }, schemaAt: format.at } : source
  const answered =
    chat.outputs.length > 0
      ? await answerRun(services, principalOf(request), { outputs: chat.outputs, at: ['body', 'messages'] })
      : undefined
  const stream = body.stream === true
  const opening = answered
    ? openAnswered(services, { request, reply }, answered)
    : openChat(services, { request, reply, operation: stream ? 'chain_streaming' : 'chain', source: formatted })
  const { model, metadata } = body
  const head = {
    requestId: answered?.key.requestId ?? request.id,
    part: answered?.part ?? wholeRun,
    created: Math.floor(Date.now() / 1000),
    model,
    metadata: metadata ?? undefined,
  }
  return { opening, head, stream, withUsage: body.stream_options?.include_usage === true }
}

function toSource(
  body: CompletionBody,
  { messages, images, sentFiles, continuation }: CompletionChat,
  { agent }: CompletionServices,
): ChatSource {
  const { tools, toolChoice } = toTools(body)
  const modelOptions = toModelOptions(body, toolChoice, agent().config.llms)
  return {
    body: { messages: [], client_tools: tools, ...(images.length > 0 ? { images } : {}) },
    at: ['body'],
    messages,
    sentFiles,
    ...(continuation ? { continuation } : {}),
    ...(modelOptions ? { modelOptions } : {}),
    toolLoc: (index, field) => ['body', 'tools', index, 'function', field === 'schema' ? 'parameters' : field],
    instructions: toInstructions(undefined, body.verbosity),
    hasShortWait: true,
  }
}
