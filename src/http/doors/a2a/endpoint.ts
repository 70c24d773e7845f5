import * as a2a from '@a2a-js/sdk'
import { A2A_ERROR_CODE, A2AError, RequestMalformedError, restStatusFor, toRestErrorBody } from '@a2a-js/sdk/errors'
import { JsonRpcTransportHandler, ServerCallContext, validateVersion, type A2ARequestHandler } from '@a2a-js/sdk/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ServiceError } from '../../../errors.ts'
import { fieldsOf } from '../../../json/shape.ts'
import { sendEvents, startInTime, type StreamStart } from '../../server/sse.ts'
import { type Caller, invalidRequest } from '../protocols.ts'
import { currentCard, legacyVersion, versionOf } from './card.ts'
import { budgetStatusOf, toA2aError, toRpcError, withErrorMapping } from './errors.ts'
import { a2aTypeOf } from './google-status.ts'
import { createRequestHandler } from './requests.ts'
import type { A2aServices } from './task-runs.ts'

/** Answers one JSON-RPC request with a response, or with a stream of responses. */
export async function answerRpc(services: A2aServices, caller: Caller, reply: FastifyReply): Promise<FastifyReply> {
  const { request } = caller
  const body = toEnvelope(request.body)
  const { id, method } = body
  request.body = body
  const fault = findEnvelopeFault(body)
  if (fault) return reply.send({ jsonrpc: '2.0', id: isMessageId(id) ? id : null, error: { code: invalidRequest, message: fault } })
  const { handler, thrown } = withErrorMapping(createRequestHandler(services, caller, ['body', 'params', 'message']), caller)
  const start = streamingMethods.has(method) ? startInTime(reply) : undefined
  const toMessage = (error: unknown) => ({ jsonrpc: '2.0', id: id ?? null, error })
  const sendError = async (error: unknown) => {
    const cause = thrown()
    const message = toMessage(budgetStatusOf(cause) ? toRpcError(cause) : error)
    if (start?.hasBegun) return sendTexts(reply, [toText(message)])
    // A temporary refusal stays an HTTP error, so that the client gets `retry-after`.
    if (cause instanceof ServiceError && cause.retryAfter !== undefined && cause.code !== 'budget_exceeded') throw cause
    return reply.send(message)
  }
  try {
    const response = await (
      await transportOf(handler, versionOf(request), method)
    ).handle(body, new ServerCallContext({ requestedVersion: versionOf(request) }))
    if (Symbol.asyncIterator in response)
      return await sendStream(reply, start, response, toText, (error) => toText(toMessage(toRpcError(error, thrown()))))
    if (!('error' in response)) return reply.send(response)
    // The library reports unreadable params as an internal error in the words of its code: send a clear error instead.
    const isUnreadable = thrown() === undefined && fieldsOf(response.error)['code'] === A2A_ERROR_CODE.INTERNAL_ERROR
    return await sendError(isUnreadable ? unreadableParams(method) : response.error)
  } catch (error) {
    return await sendError(toRpcError(error))
  } finally {
    start?.stop()
  }
}

/** Translates requests of version 0.3, whose methods have a slash in their name, and their answers. */
async function transportOf(handler: A2ARequestHandler, version: string, method: unknown): Promise<Pick<JsonRpcTransportHandler, 'handle'>> {
  if (version === legacyVersion && typeof method === 'string' && method.includes('/')) {
    const { LegacyJsonRpcTransportHandler } = await import('@a2a-js/sdk/compat/v0_3/server')
    return new LegacyJsonRpcTransportHandler(handler)
  }
  validateVersion(version, currentCard(await handler.getAgentCard()), 'JSONRPC')
  return new JsonRpcTransportHandler(handler)
}

/** The request without unknown fields. No variable of `answerRpc` holds the params, so that the run can drop them while the agent works. */
function toEnvelope(value: unknown): Record<'jsonrpc' | 'id' | 'method' | 'params', unknown> {
  const { jsonrpc, id, method, params } = fieldsOf(value)
  return { jsonrpc, id, method, params }
}

const streamingMethods = new Set<unknown>(['SendStreamingMessage', 'SubscribeToTask', 'message/stream', 'tasks/resubscribe'])

function unreadableParams(method: unknown): unknown {
  return toRpcError(new RequestMalformedError(`The params do not fit the method ${String(method)}.`))
}

/** The fault of a body that is not a JSON-RPC 2.0 request. The library would refuse such a body with -32602 and without a reason. */
function findEnvelopeFault({ jsonrpc, id, method }: Record<'jsonrpc' | 'id' | 'method', unknown>): string | undefined {
  if (jsonrpc !== '2.0') return 'jsonrpc must be "2.0".'
  if (!isMessageId(id)) return 'id must be a string, an integer or null: notifications are not accepted.'
  if (typeof method !== 'string' || method === '') return 'method must be the name of a method, such as SendMessage.'
  return undefined
}

/** Ids that the library accepts. Notifications have no id, and the library refuses them. */
function isMessageId(id: unknown): boolean {
  return id === null || typeof id === 'string' || Number.isInteger(id)
}

/** An operation of the HTTP+JSON binding. The request is the body, or else the query. */
interface HttpOperation {
  method: keyof A2ARequestHandler
  hasBody: boolean
  isStream: boolean
}

/** Answers one request of the HTTP+JSON binding. Errors are `google.rpc.Status`. */
export async function answerHttp(
  services: A2aServices,
  caller: Caller,
  reply: FastifyReply,
  operation: HttpOperation,
): Promise<FastifyReply> {
  const { request } = caller
  const { handler, thrown } = withErrorMapping(createRequestHandler(services, caller, ['body', 'message']), caller)
  const { method } = operation
  const fail = (error: unknown) => toFailure(thrown() ?? error)
  const start = operation.isStream ? startInTime(reply) : undefined
  try {
    const requestedVersion = versionOf(request)
    validateVersion(requestedVersion, await handler.getAgentCard(), 'HTTP+JSON')
    const message = toMessage(request, operation)
    const { to } = messages[method]
    const work = handler[method] as (message: object, context: ServerCallContext) => unknown
    const answer = work(message, new ServerCallContext({ requestedVersion }))
    if (start) return await sendStream(reply, start, answer as AsyncGenerator<never, void>, (event) => toText(to!(event, message)), fail)
    const answered = (await answer) as never
    return await (to ? reply.type(a2aTypeOf(request)).send(to(answered, message)) : reply.code(204).send())
  } catch (error) {
    if (start?.hasBegun) return await sendTexts(reply, [fail(error)])
    const mapped = toA2aError(error)
    // Errors without a counterpart in the protocol keep their status and headers.
    const hasWord = Object.getPrototypeOf(mapped) !== A2AError.prototype && mapped.name !== 'JsonRpcTransportError'
    if (!hasWord) throw thrown() ?? error
    return reply.code(restStatusFor(mapped)).type(a2aTypeOf(request)).send(toStatus(mapped))
  } finally {
    start?.stop()
  }
}

/** How the request of a method is read, and how its answer, or each of its events, is written. */
interface HttpMessages {
  from(json: unknown): object
  to?(answer: never, request: object): unknown
}

const messages: Readonly<Record<keyof A2ARequestHandler, HttpMessages>> = {
  sendMessage: { from: a2a.SendMessageRequest.fromJSON, to: (task: a2a.Task) => ({ task: a2a.Task.toJSON(task) }) },
  sendMessageStream: { from: a2a.SendMessageRequest.fromJSON, to: a2a.StreamResponse.toJSON },
  resubscribe: { from: a2a.SubscribeToTaskRequest.fromJSON, to: a2a.StreamResponse.toJSON },
  getTask: { from: a2a.GetTaskRequest.fromJSON, to: a2a.Task.toJSON },
  listTasks: { from: toListRequest, to: toTaskPage },
  cancelTask: { from: a2a.CancelTaskRequest.fromJSON, to: a2a.Task.toJSON },
  createTaskPushNotificationConfig: { from: a2a.TaskPushNotificationConfig.fromJSON, to: a2a.TaskPushNotificationConfig.toJSON },
  getTaskPushNotificationConfig: { from: a2a.GetTaskPushNotificationConfigRequest.fromJSON, to: a2a.TaskPushNotificationConfig.toJSON },
  listTaskPushNotificationConfigs: { from: a2a.ListTaskPushNotificationConfigsRequest.fromJSON, to: toConfigPage },
  deleteTaskPushNotificationConfig: { from: a2a.DeleteTaskPushNotificationConfigRequest.fromJSON },
  getAuthenticatedExtendedAgentCard: { from: a2a.GetExtendedAgentCardRequest.fromJSON, to: a2a.AgentCard.toJSON },
  getAgentCard: { from: fieldsOf, to: a2a.AgentCard.toJSON },
}

/** The library takes the text "false" of a query for true. */
function toListRequest(query: unknown): a2a.ListTasksRequest {
  return { ...a2a.ListTasksRequest.fromJSON(query), includeArtifacts: String(fieldsOf(query)['includeArtifacts']) === 'true' }
}

/** Empty fields of a page are present, except for artifacts that were not requested. */
function toTaskPage(
  { tasks, nextPageToken, pageSize, totalSize }: a2a.ListTasksResponse,
  { includeArtifacts }: a2a.ListTasksRequest,
): object {
  const views = tasks.map((task) => Object.assign(includeArtifacts === true ? { artifacts: [] } : {}, a2a.Task.toJSON(task)))
  return { tasks: views, nextPageToken, pageSize, totalSize }
}

function toConfigPage(page: a2a.ListTaskPushNotificationConfigsResponse): object {
  return Object.assign({ configs: [] }, a2a.ListTaskPushNotificationConfigsResponse.toJSON(page))
}

/** Reads the request of an operation. The library throws errors in the words of its code. */
function toMessage({ body, params, query }: FastifyRequest, { method, hasBody }: HttpOperation): object {
  const { id, configId } = params as { id?: string; configId?: string }
  try {
    const message = messages[method].from((hasBody ? body : query) ?? {})
    if ('taskId' in message) return Object.assign(message, { taskId: id }, configId !== undefined && { id: configId })
    return Object.assign(message, params)
  } catch {
    throw new RequestMalformedError('The request does not fit the operation.')
  }
}

function toStatus(error: A2AError) {
  return toRestErrorBody(error, restStatusFor(error))
}

function toFailure(error: unknown): string {
  return `event: error\n${toText(budgetStatusOf(error) ?? toStatus(toA2aError(error)))}`
}

function toText(message: unknown): string {
  return `data: ${JSON.stringify(message)}\n\n`
}

/** Sends a stream, which starts only after its first value, so that an immediate refusal is a plain response. A failure is the last text. */
async function sendStream<T>(
  reply: FastifyReply,
  start: StreamStart | undefined,
  values: AsyncGenerator<T, void>,
  toValueText: (value: T) => string,
  toFailureText: (error: unknown) => string,
): Promise<FastifyReply> {
  const first = await values.next()
  start?.begin()
  async function* texts(): AsyncGenerator<string, void> {
    try {
      for (let next = first; !next.done; next = await values.next()) yield toValueText(next.value)
    } catch (error) {
      yield toFailureText(error)
    }
  }
  return sendTexts(reply, texts())
}

async function sendTexts(reply: FastifyReply, texts: AsyncIterable<string> | Iterable<string>): Promise<FastifyReply> {
  await sendEvents(reply.raw, texts, reply.server.streamKeepAliveMs)
  return reply
}
