import { AgentCard } from '@a2a-js/sdk'
import { A2A_ERROR_CODE, RequestMalformedError, toJsonRpcError } from '@a2a-js/sdk/errors'
import { JsonRpcTransportHandler, ServerCallContext, validateVersion } from '@a2a-js/sdk/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Agent } from '../../../configuration/agent.ts'
import { ServiceError } from '../../../errors.ts'
import type { Caller } from '../protocol-caller.ts'
import { invalidRequest } from '../rpc-errors.ts'
import { sendEvents, startInTime } from '../../server/sse.ts'
import { toCard, type CardOptions } from './card.ts'
import { withErrorMapping } from './error-mapping.ts'
import { toA2aError } from './errors.ts'
import { createLegacyTransport, currentCard, isLegacyCall, legacyVersion, versionOf, withLegacyFields } from './legacy.ts'
import { createRequestHandler, type A2aServices } from './requests.ts'
import { fieldsOf } from '../../../json/shape.ts'

/** The agent card as JSON. A request of version 1.0 gets the fields of 1.0 alone, since its reader may refuse others. */
export function cardOf(agent: Agent, options: CardOptions, request: FastifyRequest): unknown {
  const card = AgentCard.toJSON(toCard(agent, options))
  return versionOf(request) === legacyVersion ? withLegacyFields(card) : card
}

/** Answers one JSON-RPC request with a response, or with a stream of responses. */
export async function answer(services: A2aServices, caller: Caller, reply: FastifyReply): Promise<FastifyReply> {
  const { request } = caller
  const body = toEnvelope(request.body)
  const { jsonrpc, id, method } = body
  request.body = body
  const fault = findEnvelopeFault(body)
  if (fault) return reply.send({ jsonrpc: '2.0', id: isMessageId(id) ? id : null, error: { code: invalidRequest, message: fault } })
  const { handler, thrown } = withErrorMapping(createRequestHandler(services, caller, ['body', 'params', 'message']), caller)
  const start = streamingMethods.has(method) ? startInTime(reply) : undefined
  const sendError = async (error: unknown) => {
    if (start?.hasBegun) return sendTexts(reply, [toText({ jsonrpc, id: id ?? null, error })])
    const cause = thrown()
    // A temporary refusal stays an HTTP error, so that the client gets `retry-after`.
    if (cause instanceof ServiceError && cause.retryAfter !== undefined) throw cause
    return reply.send({ jsonrpc: '2.0', id: id ?? null, error })
  }
  const requestedVersion = versionOf(request)
  try {
    const isLegacy = isLegacyCall(requestedVersion, method)
    if (!isLegacy) validateVersion(requestedVersion, currentCard(await handler.getAgentCard()), 'JSONRPC')
    const transport = isLegacy ? await createLegacyTransport(handler) : new JsonRpcTransportHandler(handler)
    const response = await transport.handle(body, new ServerCallContext({ requestedVersion }))
    if (!(Symbol.asyncIterator in response)) {
      if (!('error' in response)) return reply.send(response)
      // The library reports unreadable params as an internal error in the words of its code: send a clear error instead.
      const isUnreadable = thrown() === undefined && fieldsOf(response.error)['code'] === A2A_ERROR_CODE.INTERNAL_ERROR
      return await sendError(isUnreadable ? unreadableParams(method) : response.error)
    }
    // A stream starts only after its first message, so that an immediate refusal is a plain response.
    const first = await response.next()
    start?.begin()
    const toFailure = (error: unknown) => toText({ jsonrpc, id: id ?? null, error: toJsonRpcError(toA2aError(error)) })
    return await sendTexts(reply, toTexts(first, response, toFailure, toText))
  } catch (error) {
    return await sendError(toJsonRpcError(toA2aError(error)))
  } finally {
    start?.stop()
  }
}

/** The request without unknown fields. No variable of `answer` holds the params, so that the run can drop them while the agent works. */
function toEnvelope(value: unknown): Record<'jsonrpc' | 'id' | 'method' | 'params', unknown> {
  const { jsonrpc, id, method, params } = fieldsOf(value)
  return { jsonrpc, id, method, params }
}

const streamingMethods = new Set<unknown>(['SendStreamingMessage', 'SubscribeToTask', 'message/stream', 'tasks/resubscribe'])

function unreadableParams(method: unknown): unknown {
  return toJsonRpcError(new RequestMalformedError(`The params do not fit the method ${String(method)}.`))
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

/** The messages of a stream as server-sent events. A failure ends the stream with an error message. */
export async function* toTexts<T>(
  first: IteratorResult<T, void>,
  rest: AsyncGenerator<T, void>,
  toFailure: (error: unknown) => string,
  toMessage: (value: T) => string,
): AsyncGenerator<string, void> {
  try {
    for (let next = first; !next.done; next = await rest.next()) yield toMessage(next.value)
  } catch (error) {
    yield toFailure(error)
  }
}

function toText(message: unknown): string {
  return `data: ${JSON.stringify(message)}\n\n`
}

export async function sendTexts(reply: FastifyReply, texts: AsyncIterable<string> | Iterable<string>): Promise<FastifyReply> {
  await sendEvents(reply.raw, texts, reply.server.streamKeepAliveMs)
  return reply
}
