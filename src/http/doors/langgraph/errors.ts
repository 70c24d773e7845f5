import type { FastifyContextConfig, FastifySchema } from 'fastify'
import { Type, type TSchema } from 'typebox'
import { type ErrorBody, type Fault, invalid, type ServiceError } from '../../../errors.ts'
import { namedObject, route } from '../../schemas/shared.ts'
import type { ErrorShape } from '../../server/error-reply.ts'
import { toNamedError } from '../model-apis/errors.ts'

/** The path of the door: the `apiUrl` of its clients ends with the prefix. */
export const prefix = '/langgraph'

/** The error shape of LangGraph's Agent Server. */
export const DetailReply = namedObject('LangGraphError', 'An error in the shape of LangGraph’s Agent Server.', { detail: Type.String() })

/** The message names the faulty field. */
export function toDetail(error: ErrorBody): Type.Static<typeof DetailReply> {
  return { detail: toNamedError(error).message }
}

const langGraphErrors: ErrorShape = {
  prefix,
  bodyErrors: { 413: DetailReply, 415: DetailReply, 422: DetailReply },
  refuse: (reply, error) => reply.code(error.status_code).send(toDetail(error)),
  fail: (reply, error) => reply.code(error.status_code).send(toDetail(error)),
}

/** The refusal of a field that the service would otherwise ignore. `instead`: what the caller can do. */
export function notOffered(loc: Fault['loc'], instead: string): ServiceError {
  return invalid(loc, `is not offered: ${instead}`)
}

export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)
}

/** A route of the door, with errors in the shape of the door. */
export function doorRoute<const S extends FastifySchema & { response: Record<number, unknown> }>(config: FastifyContextConfig, schema: S) {
  const statuses = config.access === 'public' ? [400] : [400, 401, 403, 404, 409, 410, 413, 415, 422, 429, 500, 502, 503]
  const refusals = Object.fromEntries(statuses.map((status): [number, TSchema] => [status, DetailReply]))
  return route({ ...config, errorShape: langGraphErrors }, 'LangGraph', { ...schema, response: { ...refusals, ...schema.response } })
}
