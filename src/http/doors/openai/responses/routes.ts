import { route, IdHeaders, optionalText } from '../../../schemas/shared.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { accessTo } from '../../../../access/permissions.ts'
import type { App } from '../../../server/app.ts'
import { sendAnswer } from '../../model-apis/answered-run.ts'
import { jsonOrEvents, openAiRefusals } from '../replies.ts'
import { createResponse, type CreateServices } from './create.ts'
import { streamResponse } from './projection.ts'
import { ResponseEvent, ResponseReply, ResponseBody, Deleted, ItemList } from './schemas.ts'
import { openResponse, toResponse } from './response.ts'
import { receivedBefore, sendRun } from '../../../send-run.ts'
import { Type } from 'typebox'
import type { EchoStore } from '../../../../runs/log/echo-store.ts'
import type { RunStore } from '../../../../runs/run-store.ts'
import type { Runs } from '../../../../runs/runs.ts'
import type { SessionChanges } from '../../../../sessions/session-changes.ts'
import type { SessionStore } from '../../../../sessions/session-store.ts'
import { filesForReader, followRun, type Exchange, type ReaderServices } from '../../../reader.ts'
import { principalOf } from '../../../server/authenticate.ts'
import { endRun } from '../../../named-runs.ts'
import { deleteResponse, findResponse, readResponse, type StoredResponse } from './stored.ts'
import { toListedItems, toPage } from '../item-lists.ts'
import { upToPart } from './parts.ts'
import { openAiErrors } from '../errors.ts'

const question = 'What were the total sales by region?'
const responseId = { response_id: 'resp_0198f0a4-6a1e-7c3b-9f52-2d4c6b8e1a70' }
const tool = {
  type: 'function',
  name: 'get_location',
  description: 'The place where the user is now.',
  parameters: { type: 'object', properties: {} },
}
const unknownId = '404: the caller has no such response; responses with `store: false`, and those of other callers, are unknown too.'
const page = { limit: 20, order: 'asc', after: 'msg_0198f0a4-6a1e-7c3b-9f52-2d4c6b8e1a70~1_0' }

/** Chats in the form of OpenAI's responses. Errors have the shape of OpenAI's API. */
export function responseRoutes(app: App, services: CreateServices): void {
  app.post(
    '/v1/responses',
    route({ access: accessTo.chat, errorShape: openAiErrors, hasSession: true, startsRun: true, maxBodyBytes: Infinity }, 'OpenAI', {
      summary: 'Chat, compatible with OpenAI’s responses',
      text: `Asks the agent through the interface of OpenAI's responses. A response is a run, named \`resp_<request id>\`: it can be read, followed and cancelled later, and continued by \`previous_response_id\`. With \`stream: true\` the reply is server-sent events from \`response.created\` to \`response.completed\`, \`response.incomplete\` or \`response.failed\`.

\`output\` has the text before tool calls as messages with the phase \`commentary\`, and the answer with the phase \`final_answer\`. Tools of the agent run inside of it and are not shown. Calls of the request's own function tools end the response as \`function_call\` items; a request with their \`function_call_output\` items resumes the run, and its response is \`resp_<request id>~2\`, \`~3\` and so on.

Documents that the answer rests on are annotations \`file_citation\` of its text: \`index\` is the end of the cited part of the answer, \`file_id\` the id of an uploaded document or the path of a file. Web pages are annotations \`url_citation\` of the part of the text that they support. Files that the run made are links at the end of the text, with annotations \`url_citation\`.

\`previous_response_id\` continues the conversation. A response that is not the last one of its conversation starts a branch. \`conversation\` names a session instead, as \`conv_<session id>\`.

Each parameter has its effect, or is a 400 that names it. Errors have the shape of OpenAI's API.

404: the model is not this agent; the previous response, the conversation or a referenced item is unknown. 409, 410, 502: as for \`POST /core/v1/chain\`.`,
      examples: {
        question: { summary: 'A question', value: { model: 'agent-core', input: question } },
        stream: { summary: 'A streamed answer', value: { model: 'agent-core', input: question, stream: true } },
        background: { summary: 'In the background', value: { model: 'agent-core', input: question, background: true } },
        tools: {
          summary: 'With a tool of the client',
          value: { model: 'agent-core', input: 'Where am I?', tools: [tool], tool_choice: 'required' },
        },
      },
      headers: IdHeaders,
      body: ResponseBody,
      response: {
        200: jsonOrEvents(ResponseReply, ResponseEvent, 'from `response.created` to `response.completed`, `.incomplete` or `.failed`.'),
        ...openAiRefusals(400, 401, 403, 404, 409, 410, 413, 415, 429, 500, 502, 503),
      },
    }),
    async (request, reply) => {
      const isStream = request.body.stream === true
      const { head, opening } = await createResponse(services, { request, reply }, request.body)
      if (head.fields.background && !isStream) return opening.chat.then(() => openResponse(head, 'queued'))
      return sendAnswer(reply, opening, head, {
        render: isStream ? (hasSchema) => streamResponse(head, { hasSchema }) : undefined,
        toJson: ({ generated_artifacts: files }, { hasSchema, log }) => toResponse(head, log.events.slice(), { hasSchema, files }),
      })
    },
  )
}

interface StoredResponseServices extends ReaderServices {
  runs: Pick<Runs, 'follow' | 'cancel'>
  runStore: Pick<RunStore, 'find'>
  echoes: Pick<EchoStore, 'remove'>
  sessionStore: Pick<SessionStore, 'find' | 'messages'>
  changes: Pick<SessionChanges, 'remove'>
}

const tag = 'OpenAI'
const params = Type.Object({ response_id: Type.String({ maxLength: 200, description: '`resp_<request id>`' }) })
const refusals = openAiRefusals(400, 401, 403, 404, 429, 500, 503)

const ReadQuery = Type.Object({
  stream: Type.Boolean({
    default: false,
    description: 'Sends the events of the response, from the start or after `starting_after`, then live.',
  }),
  starting_after: Type.Optional(Type.Integer({ minimum: 0, description: 'The `sequence_number` of the last event that the client has.' })),
})

/** Query of lists of items. */
export const ItemQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  order: Type.Enum(['asc', 'desc'], { default: 'desc', description: '`desc`: newest first.' }),
  after: optionalText('The id of an item: the page begins after this item.'),
})

type StoredRequest = FastifyRequest<{ Params: { response_id: string } }>

/** Routes of stored responses: read, follow, cancel, delete. Ids of other callers are unknown. */
export const storedResponseRoutes = [readRoute, cancelRoute, deleteRoute, inputRoute] as const

function find({ runStore }: StoredResponseServices, request: StoredRequest): Promise<StoredResponse> {
  return findResponse(runStore, principalOf(request), request.params.response_id)
}

async function read(services: StoredResponseServices, request: StoredRequest): Promise<object> {
  return readResponse(await find(services, request), filesForReader(services.artifacts, request))
}

function readRoute(app: App, services: StoredResponseServices): void {
  app.get(
    '/v1/responses/:response_id',
    {
      ...route({ access: accessTo.readRun, errorShape: openAiErrors }, tag, {
        summary: 'Get a response, or follow its events',
        text: `The response in its current state. With \`stream=true\`, its events from the start, or after the \`sequence_number\` of \`starting_after\`, then live: with the same numbers on every replica.

${unknownId}`,
        parameters: { ...responseId, stream: false, starting_after: 4 },
        params,
        querystring: ReadQuery,
        response: { 200: jsonOrEvents(ResponseReply, ResponseEvent, 'as of `POST /v1/responses`, with the same numbers.'), ...refusals },
      }),
      // A HEAD request would read the whole run without a reader.
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      const { stream, starting_after: startingAfter = -1 } = request.query
      if (!stream) return read(services, request)
      return streamStored(services, { request, reply }, await find(services, request), startingAfter)
    },
  )
}

function cancelRoute(app: App, services: StoredResponseServices): void {
  app.post(
    '/v1/responses/:response_id/cancel',
    route({ access: accessTo.cancelRun, errorShape: openAiErrors }, tag, {
      summary: 'Cancel a response; a response that has ended stays as it is',
      text: `Cancels the run of a response, in the background or not, and returns the response. One that has ended is returned as it is.

${unknownId}`,
      parameters: responseId,
      params,
      response: { 200: ResponseReply, ...refusals, ...openAiRefusals(413, 415) },
    }),
    async (request) => {
      const { run } = await find(services, request)
      await endRun(services.runs, run)
      return read(services, request)
    },
  )
}

function deleteRoute(app: App, services: StoredResponseServices): void {
  app.delete(
    '/v1/responses/:response_id',
    route({ access: 'sessions.write', errorShape: openAiErrors }, tag, {
      summary: 'Delete a response. The messages of a conversation with other responses stay',
      text: `Cancels a response if it has not ended, and deletes it. The only response of a session is deleted with the session. Otherwise the messages stay in the conversation, until the conversation is deleted.

${unknownId}`,
      parameters: responseId,
      params,
      response: { 200: Deleted, ...refusals },
    }),
    async (request) => {
      const { response_id: id } = request.params
      await deleteResponse(services, principalOf(request), await find(services, request))
      return { id, object: 'response', deleted: true }
    },
  )
}

function inputRoute(app: App, services: StoredResponseServices): void {
  app.get(
    '/v1/responses/:response_id/input_items',
    route({ access: accessTo.readRun, errorShape: openAiErrors }, tag, {
      summary: 'List the input items of a response',
      text: `The items that the request sent, newest first. Items of earlier responses are listed by those responses. Images are listed without their bytes.

${unknownId}`,
      parameters: { ...responseId, ...page },
      params,
      querystring: ItemQuery,
      response: { 200: ItemList, ...refusals },
    }),
    async (request) => {
      const { head, echo } = await find(services, request)
      return toPage(toListedItems(head.key, echo.input), request.query)
    },
  )
}

/** Sends the events of a response behind a number, which each reader gets in the same order with the same numbers. */
async function streamStored(
  services: StoredResponseServices,
  exchange: Exchange,
  { head, run: storedRun }: StoredResponse,
  startingAfter: number,
): Promise<FastifyReply> {
  const open = await followRun(services, exchange, storedRun)
  const run = upToPart(open.run, head.key.part)
  const options = { startingAfter, isReplay: true, log: run.log, endedAt: storedRun.endedAt }
  const render = (hasSchema: boolean) => streamResponse(head, { ...options, hasSchema })
  return sendRun(exchange.reply, { chat: Promise.resolve({ ...open, run }) }, { ...receivedBefore(head.part), failsInStream: true, render })
}
