import type { FastifyRequest } from 'fastify'
import type { Principal } from '../../access/principal.ts'
import { fieldsOf } from '../../json/is-object.ts'

/** Requests of clients that cancel by a message of its own (protocol revisions before 2026-07-28; later ones just leave). */
export interface Cancellations {
  /** Aborts what the message cancels, when it does. */
  take(request: FastifyRequest, principal: Principal): void
  /** A signal that also hears of cancellations, until `signal` is aborted. */
  watch(request: FastifyRequest, principal: Principal, signal: AbortSignal): AbortSignal
}

/**
 * Ids of messages are counted by every client from the same number: what tells two clients with one key apart is the session id
 * of the protocol, which each is given when it begins. Nothing else is kept for it.
 */
export function createCancellations(): Cancellations {
  const running = new Map<string, AbortController>()

  function watch(request: FastifyRequest, principal: Principal, signal: AbortSignal): AbortSignal {
    const { method, id } = fieldsOf(request.body)
    const key = keyOf(request, principal, id)
    if (method !== 'tools/call' || key === undefined || running.has(key)) return signal
    const cancelling = new AbortController()
    running.set(key, cancelling)
    signal.addEventListener('abort', () => running.delete(key), { once: true })
    return AbortSignal.any([signal, cancelling.signal])
  }

  function take(request: FastifyRequest, principal: Principal): void {
    const { method, params } = fieldsOf(request.body)
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
