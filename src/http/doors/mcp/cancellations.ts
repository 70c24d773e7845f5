import type { FastifyRequest } from 'fastify'
import type { Principal } from '../../../access/principal.ts'
import { fieldsOf } from '../../../json/shape.ts'

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
