import {
  AgentCard,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk'
import { A2AError, RequestMalformedError, restStatusFor, toRestErrorBody, type RestErrorBody } from '@a2a-js/sdk/errors'
import { ServerCallContext, validateVersion, type A2ARequestHandler } from '@a2a-js/sdk/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../protocol-caller.ts'
import { startInTime } from '../../server/sse.ts'
import { sendTexts, toTexts } from './endpoint.ts'
import { withErrorMapping } from './error-mapping.ts'
import { toA2aError } from './errors.ts'
import { a2aTypeOf } from './google-status.ts'
import { versionOf } from './legacy.ts'
import { createRequestHandler, type A2aServices } from './requests.ts'
import { toListJson } from './task-list.ts'
import { fieldsOf } from '../../../json/shape.ts'

/** The parts of an HTTP request that an operation reads. */
interface HttpInput {
  body: unknown
  /** Parameters of the path: `id` of the task, `configId` of a push notification config. */
  path: Record<string, string>
  query: Record<string, unknown>
}

interface Call {
  handler: A2ARequestHandler
  input: HttpInput
  context: ServerCallContext
}

const tenant = ''

/** The operations with one answer; undefined for an answer without a body. */
const answers = {
  async sendMessage({ handler, input, context }: Call) {
    const task = (await handler.sendMessage(parse(input.body, SendMessageRequest), context)) as Task
    return SendMessageResponse.toJSON({ payload: { $case: 'task', value: task } })
  },
  async getTask({ handler, input: { path, query }, context }: Call) {
    const { historyLength } = parse(query, ListTasksRequest)
    return Task.toJSON(await handler.getTask({ tenant, id: path['id']!, historyLength }, context))
  },
  async listTasks({ handler, input: { query }, context }: Call) {
    // Texts of the query; the library takes "false" for true.
    const request = { ...parse(query, ListTasksRequest), includeArtifacts: String(query['includeArtifacts']) === 'true' }
    return toListJson(await handler.listTasks(request, context), request.includeArtifacts)
  },
  async cancelTask({ handler, input: { path }, context }: Call) {
    return Task.toJSON(await handler.cancelTask({ tenant, id: path['id']!, metadata: undefined }, context))
  },
  async createPushConfig({ handler, input: { path, body }, context }: Call) {
    const config = { ...parse(body, TaskPushNotificationConfig), taskId: path['id']! }
    return TaskPushNotificationConfig.toJSON(await handler.createTaskPushNotificationConfig(config, context))
  },
  async getPushConfig({ handler, input: { path }, context }: Call) {
    const request = { tenant, taskId: path['id']!, id: path['configId']! }
    return TaskPushNotificationConfig.toJSON(await handler.getTaskPushNotificationConfig(request, context))
  },
  async listPushConfigs({ handler, input: { path, query }, context }: Call) {
    const { pageSize = 0, pageToken } = parse(query, ListTasksRequest)
    const request = { tenant, taskId: path['id']!, pageSize, pageToken }
    const page = await handler.listTaskPushNotificationConfigs(request, context)
    return { configs: [], ...(ListTaskPushNotificationConfigsResponse.toJSON(page) as object) }
  },
  async deletePushConfig({ handler, input: { path }, context }: Call) {
    await handler.deleteTaskPushNotificationConfig({ tenant, taskId: path['id']!, id: path['configId']! }, context)
    return undefined
  },
  async getExtendedCard({ handler, context }: Call) {
    return AgentCard.toJSON(await handler.getAuthenticatedExtendedAgentCard({ tenant }, context))
  },
} satisfies Record<string, (call: Call) => Promise<unknown>>

/** The operations that are answered with a stream. */
const streams = {
  sendMessageStream: ({ handler, input, context }: Call) => handler.sendMessageStream(parse(input.body, SendMessageRequest), context),
  subscribe: ({ handler, input: { path }, context }: Call) => handler.resubscribe({ tenant, id: path['id']! }, context),
} satisfies Record<string, (call: Call) => AsyncGenerator<StreamResponse, void, undefined>>

export type HttpOperation = keyof typeof answers | keyof typeof streams

/** Answers one request of the HTTP+JSON binding. Errors are `google.rpc.Status`. */
export async function answerHttp(
  services: A2aServices,
  caller: Caller,
  reply: FastifyReply,
  operation: HttpOperation,
): Promise<FastifyReply> {
  const { request } = caller
  const input = inputOf(request)
  const { handler, thrown } = withErrorMapping(createRequestHandler(services, caller, ['body', 'message']), caller)
  const start = operation in streams ? startInTime(reply) : undefined
  try {
    const requestedVersion = versionOf(request)
    validateVersion(requestedVersion, await handler.getAgentCard(), 'HTTP+JSON')
    const call = { handler, input, context: new ServerCallContext({ requestedVersion }) }
    if (operation in answers) return await sendJson(reply, await answers[operation as keyof typeof answers](call))
    const events = streams[operation as keyof typeof streams](call)
    // A stream starts only after its first message, so that an immediate refusal is a plain response.
    const first = await events.next()
    start?.begin()
    return await sendTexts(reply, toTexts(first, events, toFailure, toText))
  } catch (error) {
    if (start?.hasBegun) return await sendTexts(reply, [toFailure(error)])
    const mapped = toA2aError(error)
    // Errors without a counterpart in the protocol keep their status and headers.
    if (!isOfProtocol(mapped)) throw thrown() ?? error
    return reply.code(restStatusFor(mapped)).type(a2aTypeOf(request)).send(toStatus(mapped))
  } finally {
    start?.stop()
  }
}

function inputOf({ body, params, query }: FastifyRequest): HttpInput {
  return { body, path: params as Record<string, string>, query: fieldsOf(query) }
}

function sendJson(reply: FastifyReply, body: unknown): FastifyReply {
  return body === undefined ? reply.code(204).send() : reply.type(a2aTypeOf(reply.request)).send(body)
}

/** Reads a message of the protocol. The library throws errors in the words of its code. */
function parse<T>(value: unknown, { fromJSON }: { fromJSON(object: unknown): T }): T {
  try {
    return fromJSON(value ?? {})
  } catch {
    throw new RequestMalformedError('The request does not fit the operation.')
  }
}

function isOfProtocol({ name }: A2AError): boolean {
  return name !== 'A2AError' && name !== 'JsonRpcTransportError'
}

function toStatus(error: A2AError): RestErrorBody {
  return toRestErrorBody(error, restStatusFor(error))
}

function toText(event: StreamResponse): string {
  return `data: ${JSON.stringify(StreamResponse.toJSON(event))}\n\n`
}

function toFailure(error: unknown): string {
  return `event: error\ndata: ${JSON.stringify(toStatus(toA2aError(error)))}\n\n`
}
