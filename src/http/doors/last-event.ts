import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { invalid } from '../../errors.ts'
import { setRequestId } from '../server/request-headers.ts'

/** The header by which a reader of server-sent events says what it has. */
export const lastEventHeader = { 'last-event-id': Type.Optional(Type.String()) }

/** Parses `last-event-id`, `<request id>:<number>`. 0 for an empty or absent header: the stream begins at the start. */
export function lastEventNumber({ headers: { 'last-event-id': id } }: FastifyRequest, requestId: string): number {
  if (id === undefined || id === '') return 0
  const number = String(id).startsWith(`${requestId}:`) ? String(id).slice(requestId.length + 1) : ''
  if (!/^\d{1,9}$/.test(number)) throw invalid(['header', 'last-event-id'], `must be ${requestId}:<number>`)
  return Number(number)
}

/**
 * Names a request that is repeated after its stream was cut, by the run of `last-event-id`. Clients repeat a POST by themselves; without the name, the
 * repeat would be a second run. The header `request-id` wins.
 */
export function nameRepeatedRequest(request: FastifyRequest, reply: FastifyReply): void {
  const { 'last-event-id': id, 'request-id': requestId } = request.headers
  const [, runId] = /^(.+):\d{1,9}$/.exec(String(id ?? '').slice(0, 200)) ?? []
  if (runId === undefined || requestId !== undefined) return
  setRequestId(request, reply, runId)
  if (request.id === runId) request.headers['request-id'] = runId
}
