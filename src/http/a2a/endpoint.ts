import { A2A_VERSION_HEADER, AgentCard } from '@a2a-js/sdk'
import { A2A_ERROR_CODE, RequestMalformedError, toJsonRpcError } from '@a2a-js/sdk/errors'
import { JsonRpcTransportHandler, ServerCallContext, validateVersion, type A2ARequestHandler } from '@a2a-js/sdk/server'
import type { FastifyReply } from 'fastify'
import type { Agent } from '../../configuration/agent.ts'
import { ServiceError } from '../../errors.ts'
import type { Caller } from '../protocol-caller.ts'
import { invalidRequest } from '../rpc-errors.ts'
import { sendEvents, startInTime } from '../sse.ts'
import { toCard, type CardOptions } from './card.ts'
import { toA2aError } from './errors.ts'
import { createRequestHandler, type A2aServices } from './requests.ts'
import { fieldsOf } from '../../json/shape.ts'

/** The agent card as JSON. */
export function cardOf(agent: Agent, options: CardOptions): unknown {
  return AgentCard.toJSON(toCard(agent, options))
}

/** Answers one JSON-RPC request with a response, or with a stream of responses. */
export async function answer(services: A2aServices, caller: Caller, reply: FastifyReply): Promise<FastifyReply> {
  const { request } = caller
  const { jsonrpc, id, method, params } = fieldsOf(request.body)
  const body = { jsonrpc, id, method, params }
  // Unknown fields are dropped, so that they do not stay in memory while the agent works.
  request.body = body
  const fault = findEnvelopeFault(body)
  if (fault) return reply.send({ jsonrpc: '2.0', id: isMessageId(id) ? id : null, error: { code: invalidRequest, message: fault } })
  const { handler, thrown } = withErrorMapping(createRequestHandler(services, caller), caller)
  const start = streamingMethods.has(method) ? startInTime(reply) : undefined
  const sendError = async (error: unknown) => {
    if (start?.hasBegun) return sendTexts(reply, [toText({ jsonrpc, id: id ?? null, error })])
    const cause = thrown()
    // A temporary refusal stays an HTTP error, so that the client gets `retry-after`.
    if (cause instanceof ServiceError && cause.retryAfter !== undefined) throw cause
    return reply.send({ jsonrpc: '2.0', id: id ?? null, error })
  }
  // A2A 1.0, 3.6.2: a request without the header has version 0.3.
  const requestedVersion = String(request.headers[A2A_VERSION_HEADER.toLowerCase()] ?? '') || '0.3'
  try {
    validateVersion(requestedVersion, await handler.getAgentCard(), 'JSONRPC')
    const response = await new JsonRpcTransportHandler(handler).handle(body, new ServerCallContext({ requestedVersion }))
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
    return await sendTexts(reply, toTexts(first, response, toFailure))
  } catch (error) {
    return await sendError(toJsonRpcError(toA2aError(error)))
  } finally {
    start?.stop()
  }
}

const streamingMethods = new Set<unknown>(['SendStreamingMessage', 'SubscribeToTask'])

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
async function* toTexts<T>(
  first: IteratorResult<T, void>,
  rest: AsyncGenerator<T, void>,
  toFailure: (error: unknown) => string,
): AsyncGenerator<string, void> {
  try {
    for (let next = first; !next.done; next = await rest.next()) yield toText(next.value)
  } catch (error) {
    yield toFailure(error)
  }
}

function toText(message: unknown): string {
  return `data: ${JSON.stringify(message)}\n\n`
}

async function sendTexts(reply: FastifyReply, texts: AsyncIterable<string> | Iterable<string>): Promise<FastifyReply> {
  await sendEvents(reply.raw, texts, reply.server.streamKeepAliveMs)
  return reply
}

/**
 * Maps errors of the handler to A2A errors, since the library sends the message of any thrown error to the client. Unexpected errors are logged and
 * become "Internal server error."; `thrown` returns the original of the last error.
 */
function withErrorMapping(handler: A2ARequestHandler, { request }: Caller): { handler: A2ARequestHandler; thrown(): unknown } {
  let thrown: unknown
  const toMapped = (error: unknown) => {
    const mapped = toA2aError(error)
    thrown = error
    if (!(error instanceof ServiceError) && mapped !== error) request.log.error({ err: error }, 'unexpected failure')
    return mapped
  }
  const mapPromise =
    <P extends unknown[], R>(work: (...params: P) => Promise<R>) =>
    (...params: P): Promise<R> =>
      work(...params).catch((error: unknown) => {
        throw toMapped(error)
      })
  const mapStream = <P extends unknown[], R>(work: (...params: P) => AsyncGenerator<R, void, undefined>) =>
    async function* (...params: P): AsyncGenerator<R, void, undefined> {
      try {
        yield* work(...params)
      } catch (error) {
        throw toMapped(error)
      }
    }
  const { sendMessage, sendMessageStream, getTask, cancelTask, resubscribe } = handler
  return {
    handler: {
      ...handler,
      sendMessage: mapPromise(sendMessage),
      getTask: mapPromise(getTask),
      cancelTask: mapPromise(cancelTask),
      sendMessageStream: mapStream(sendMessageStream),
      resubscribe: mapStream(resubscribe),
    },
    thrown: () => thrown,
  }
}
