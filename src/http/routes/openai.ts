import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { accessTo } from '../../access/operations.ts'
import { ServiceError } from '../../errors.ts'
import type { AgentConfig } from '../../configuration/schema.ts'
import type { Operation } from '../../runs/run.ts'
import { sendFailure } from '../error-reply.ts'
import { openChat, outcomeOf, type ChatServices } from '../open-chat.ts'
import { completionChunksOf, completionHead, toCompletion } from '../openai/chat-completion.ts'
import { toChatBody } from '../openai/messages.ts'
import {
  ChatCompletion,
  ChatCompletionChunk,
  jsonOrEvents,
  Model,
  ModelList,
  openAiRefusals,
  ResponseEvent,
  ResponseReply,
} from '../openai/replies.ts'
import { responseEventsOf } from '../openai/response-events.ts'
import { responseHead, responseToChatBody, toResponse } from '../openai/response.ts'
import { CompletionBody, ResponseBody, type InputMessage } from '../openai/schemas.ts'
import { refuseInCompletion, refuseInResponse } from '../openai/unsupported.ts'
import { IdHeaders } from '../schemas.ts'
import { sendRun } from '../send-run.ts'

const tags = ['OpenAI']
const chatRefusals = openAiRefusals(400, 401, 403, 404, 409, 410, 413, 415, 429, 500, 502, 503)

/** The agent for OpenAI clients: chat completions and responses are translated to chats. Errors have the shape of OpenAI's API. */
export function openAiRoutes(app: FastifyInstance, services: ChatServices): void {
  modelRoutes(app, services)

  app.post(
    '/v1/chat/completions',
    {
      config: { access: accessTo.chat, errorShape: 'openai', hasSession: true },
      schema: {
        tags,
        summary: 'Chat, compatible with OpenAI’s chat completions',
        headers: IdHeaders,
        body: CompletionBody,
        response: { 200: jsonOrEvents(ChatCompletion, ChatCompletionChunk, '`chat.completion.chunk`s, then `[DONE]`.'), ...chatRefusals },
      },
    },
    async (request, reply) => {
      const { opening, head, stream, withUsage } = openCompletion(services, request, reply)
      if (stream) return sendRun(reply, opening, { after: 0, toChunk: completionChunksOf(head, withUsage) })
      const chat = await opening.chat
      const { answer, error } = await outcomeOf(chat)
      return error ? sendFailure(reply, error) : toCompletion(head, answer, chat.run.log.events)
    },
  )

  app.post(
    '/v1/responses',
    {
      config: { access: accessTo.chat, errorShape: 'openai', hasSession: true },
      schema: {
        tags,
        summary: 'Chat, compatible with OpenAI’s responses',
        headers: IdHeaders,
        body: ResponseBody,
        response: { 200: jsonOrEvents(ResponseReply, ResponseEvent, 'from `response.created` to `response.completed`.'), ...chatRefusals },
      },
    },
    async (request, reply) => {
      const { opening, head, stream } = openResponse(services, request, reply)
      if (stream) return sendRun(reply, opening, { after: 0, toChunk: responseEventsOf(head) })
      const chat = await opening.chat
      const { answer, end, error } = await outcomeOf(chat)
      return error ? sendFailure(reply, error) : toResponse(head, answer, end)
    },
  )
}

// The two functions read the body, so that the handlers, which wait for the run, do not keep megabytes of images alive.

function openCompletion(services: ChatServices, request: FastifyRequest, reply: FastifyReply) {
  const body = request.body as CompletionBody
  refuseInCompletion(body)
  refuseOtherModel(body.model, services.agent().config)
  const stream = body.stream === true
  const source = { body: toChatBody(body.messages as InputMessage[], ['body', 'messages']), at: ['body'] }
  const opening = openChat(services, { request, reply, operation: operationOf(stream), source })
  const withUsage = body.stream_options?.include_usage === true
  return { opening, head: completionHead(request.id, body.model), stream, withUsage }
}

function openResponse(services: ChatServices, request: FastifyRequest, reply: FastifyReply) {
  const body = request.body as ResponseBody
  refuseInResponse(body)
  refuseOtherModel(body.model, services.agent().config)
  const stream = body.stream === true
  const source = { body: responseToChatBody(body), at: ['body'] }
  const opening = openChat(services, { request, reply, operation: operationOf(stream), source })
  return { opening, head: responseHead(request.id, body), stream }
}

function operationOf(stream: boolean): Operation {
  return stream ? 'chain_streaming' : 'chain'
}

function modelRoutes(app: FastifyInstance, { agent }: ChatServices): void {
  const created = Math.floor(Date.now() / 1000)
  const toModel = ({ uri_id: id }: AgentConfig) => ({ id, object: 'model', created, owned_by: 'agent-core' })
  const refusals = openAiRefusals(401, 403, 404, 429, 500, 503)

  app.get(
    '/v1/models',
    {
      config: { access: accessTo.chat, errorShape: 'openai' },
      schema: { tags, summary: 'List models; the agent is the only model', response: { 200: ModelList, ...refusals } },
    },
    async () => ({ object: 'list', data: [toModel(agent().config)] }),
  )

  app.get(
    '/v1/models/:model',
    {
      config: { access: accessTo.chat, errorShape: 'openai' },
      schema: { tags, summary: 'Get the agent as a model', response: { 200: Model, ...refusals } },
    },
    async (request) => {
      const { config } = agent()
      refuseOtherModel((request.params as { model: string }).model, config)
      return toModel(config)
    },
  )
}

/** Throws unless `model` is the `uri_id`, `id` or `name` of the agent. */
function refuseOtherModel(model: string, { id, uri_id: uriId, name }: AgentConfig): void {
  if (model === uriId || model === id || model === name) return
  const faults = [{ loc: ['body', 'model'], msg: `there is no model ${model}; use ${uriId}`, type: 'model_not_found' }]
  throw new ServiceError('not_found', `There is no model ${model}.`, { faults })
}
