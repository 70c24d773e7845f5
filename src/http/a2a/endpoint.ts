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
import { fieldsOf } from '../../json/is-object.ts'

/** The agent card, as it is sent. */
export function cardOf(agent: Agent, options: CardOptions): unknown {
  return AgentCard.toJSON(toCard(agent, options))
}

/** Answers one message of JSON-RPC, by one message or by a stream of them. */
export async function answer(services: A2aServices, caller: Caller, reply: FastifyReply): Promise<FastifyReply> {
  const { request } = caller
  const { jsonrpc, id, method, params } = fieldsOf(request.body)
  const body = { jsonrpc, id, method, params }
  // What else stands in the message is dropped while the agent works.
  request.body = body
  const fault = findEnvelopeFault(body)
  if (fault) return reply.send({ jsonrpc: '2.0', id: isMessageId(id) ? id : null, error: { code: invalidRequest, message: fault } })
  const { handler, thrown } = withErrorMapping(createRequestHandler(services, caller), caller)
  const start = streaming.has(method) ? startInTime(reply) : undefined
  const failed = async (error: unknown) => {
    if (start?.hasBegun) return sendTexts(reply, [toText({ jsonrpc, id: id ?? null, error })])
    const refused = thrown()
    // One that passes is said as everywhere: what calls over HTTP knows when to come back.
    if (refused instanceof ServiceError && refused.retryAfter !== undefined) throw refused
    return reply.send({ jsonrpc: '2.0', id: id ?? null, error })
  }
  // Without the header it is the revision that came before there was one (A2A 1.0, 3.6.2).
  const requestedVersion = String(request.headers[A2A_VERSION_HEADER.toLowerCase()] ?? '') || '0.3'
  try {
    validateVersion(requestedVersion, await handler.getAgentCard(), 'JSONRPC')
    const answered = await new JsonRpcTransportHandler(handler).handle(body, new ServerCallContext({ requestedVersion }))
    if (!(Symbol.asyncIterator in answered)) {
      if (!('error' in answered)) return reply.send(answered)
      // What the library itself could not read, it tells in the words of its own code.
      const isUnread = thrown() === undefined && fieldsOf(answered.error)['code'] === A2A_ERROR_CODE.INTERNAL_ERROR
      return await failed(isUnread ? toJsonRpcError(new RequestMalformedError(`The params do not fit ${String(method)}.`)) : answered.error)
    }
    // A stream that is refused at once is no stream.
    const first = await answered.next()
    start?.begin()
    const toFailure = (error: unknown) => toText({ jsonrpc, id: id ?? null, error: toJsonRpcError(toA2aError(error)) })
    return await sendTexts(reply, toTexts(first, answered, toFailure))
  } catch (error) {
    return await failed(toJsonRpcError(toA2aError(error)))
  } finally {
    start?.stop()
  }
}

const streaming = new Set<unknown>(['SendStreamingMessage', 'SubscribeToTask'])

/** What keeps a body from being a request of JSON-RPC 2.0. The library refuses such a body as -32602, without a reason. */
function findEnvelopeFault({ jsonrpc, id, method }: Record<'jsonrpc' | 'id' | 'method', unknown>): string | undefined {
  if (jsonrpc !== '2.0') return 'jsonrpc must be "2.0".'
  if (!isMessageId(id)) return 'id must be text, a whole number or null: notifications are not taken.'
  if (typeof method !== 'string' || method === '') return 'method must be the name of a method, such as SendMessage.'
  return undefined
}

/** Ids that the library takes. It refuses notifications, which have none. */
function isMessageId(id: unknown): boolean {
  return id === null || typeof id === 'string' || Number.isInteger(id)
}

/** The messages of a stream. A failure behind the first one is the last: the session was deleted, or the service stops. */
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

/** The library tells what is thrown: so it throws what may be told, and the log has the rest. */
function withErrorMapping(handler: A2ARequestHandler, { request }: Caller): { handler: A2ARequestHandler; thrown(): unknown } {
  let thrown: unknown
  const tell = (error: unknown) => {
    const known = toA2aError(error)
    thrown = error
    if (!(error instanceof ServiceError) && known !== error) request.log.error({ err: error }, 'unexpected failure')
    return known
  }
  const one =
    <P extends unknown[], R>(work: (...params: P) => Promise<R>) =>
    (...params: P): Promise<R> =>
      work(...params).catch((error: unknown) => {
        throw tell(error)
      })
  const many = <P extends unknown[], R>(work: (...params: P) => AsyncGenerator<R, void, undefined>) =>
    async function* (...params: P): AsyncGenerator<R, void, undefined> {
      try {
        yield* work(...params)
      } catch (error) {
        throw tell(error)
      }
    }
  const { sendMessage, sendMessageStream, getTask, cancelTask, resubscribe } = handler
  return {
    handler: {
      ...handler,
      ...{ sendMessage: one(sendMessage), getTask: one(getTask), cancelTask: one(cancelTask) },
      ...{ sendMessageStream: many(sendMessageStream), resubscribe: many(resubscribe) },
    },
    thrown: () => thrown,
  }
}
