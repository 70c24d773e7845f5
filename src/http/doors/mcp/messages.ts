import type { FastifyRequest } from 'fastify'
import type { Principal } from '../../../access/permissions.ts'
import { invalid, type ServiceError } from '../../../errors.ts'
import { fieldsOf } from '../../../json/shape.ts'

/** Most messages in a batch. Each counts as a request for rate limits. */
export const maxBatch = 50

/** The only revision with JSON-RPC batches: they came with it, and went with the next one. */
const batchRevision = '2025-03-26'

/**
 * Throws for a batch in another revision, with no message or more than `maxBatch`, or with `initialize`, which comes alone. A request without a
 * revision has the one with batches.
 */
export function checkBatch(messages: readonly unknown[], { headers }: Pick<FastifyRequest, 'headers'>): void {
  const revision = headers['mcp-protocol-version'] ?? batchRevision
  if (revision !== batchRevision) throw invalid(['body'], `must be one message: revision ${String(revision).slice(0, 20)} has no batches`)
  const count = messages.length
  if (count === 0 || count > maxBatch) throw invalid(['body'], `must have 1 to ${maxBatch} messages, but has ${count}`)
  if (messages.some((message) => fieldsOf(message)['method'] === 'initialize')) {
    throw invalid(['body'], 'must not have initialize in a batch')
  }
}

/** The request as a message of a batch sees it: with a separate request id, so that each call is a separate run. */
export function requestOf(request: FastifyRequest, index: number): FastifyRequest {
  if (index === 0) return request
  return Object.create(request, { id: { value: `${request.id}:${index}` } }) as FastifyRequest
}

/** A message that expects a response. */
export function isRequest(message: unknown): boolean {
  const { id, method } = fieldsOf(message)
  return id !== undefined && method !== undefined
}

/** JSON-RPC reserves -32000 for servers. */
const refusedCode = -32000

/** The response to a message of a batch that is not handled. */
export function toRefusal(message: unknown, refusal: ServiceError): Response {
  const { id } = fieldsOf(message)
  return Response.json({ jsonrpc: '2.0', id: id ?? null, error: { code: refusedCode, message: refusal.message } })
}

/** The responses of a batch as one response: events in the order of the messages. 202 if no message is a request. None of them may reject. */
export function joinResponses(responses: readonly Promise<Response>[], hasRequests: boolean): Response {
  if (!hasRequests) return new Response(null, { status: 202 })
  const events = ReadableStream.from(eventsOf(responses)).pipeThrough(new TextEncoderStream())
  return new Response(events, { headers: { 'content-type': 'text/event-stream' } })
}

async function* eventsOf(responses: readonly Promise<Response>[]): AsyncGenerator<string, void> {
  for (const arriving of responses) {
    const response = await arriving
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
    if (isStream && response.body) yield* response.body.pipeThrough(new TextDecoderStream())
    else {
      const json = await response.text()
      if (json !== '') yield `event: message\ndata: ${json}\n\n`
    }
  }
}

/** Cancels requests by `notifications/cancelled`. Clients of protocol revision 2026-07-28 or later disconnect instead. */
export interface Cancellations {
  /** Aborts the request that a `notifications/cancelled` message names. Ignores other messages. */
  take(request: FastifyRequest, principal: Principal, message: unknown): void
  /** Returns a signal that is aborted with `signal` or by a cancellation. */
  watch(request: FastifyRequest, principal: Principal, call: { message: unknown; signal: AbortSignal }): AbortSignal
}

/**
 * Message ids are not unique: every client counts from the same number. Requests are therefore keyed by the caller, the MCP session id, which
 * each client receives on `initialize`, and the message id. No other state belongs to an MCP session.
 */
export function createCancellations(): Cancellations {
  const running = new Map<string, AbortController>()

  function watch(
    request: FastifyRequest,
    principal: Principal,
    { message, signal }: { message: unknown; signal: AbortSignal },
  ): AbortSignal {
    const { method, id } = fieldsOf(message)
    const key = keyOf(request, principal, id)
    if (method !== 'tools/call' || key === undefined || running.has(key)) return signal
    const cancelling = new AbortController()
    running.set(key, cancelling)
    signal.addEventListener('abort', () => running.delete(key), { once: true })
    return AbortSignal.any([signal, cancelling.signal])
  }

  function take(request: FastifyRequest, principal: Principal, message: unknown): void {
    const { method, params } = fieldsOf(message)
    if (method !== 'notifications/cancelled') return
    const key = keyOf(request, principal, fieldsOf(params)['requestId'])
    if (key !== undefined) running.get(key)?.abort()
  }

  return { take, watch }
}

function keyOf({ headers }: FastifyRequest, { tenant, owner }: Principal, id: unknown): string | undefined {
  const session = headers['mcp-session-id']
  if (typeof session !== 'string' || (typeof id !== 'string' && typeof id !== 'number')) return undefined
  return JSON.stringify([tenant, owner, session, id])
}
