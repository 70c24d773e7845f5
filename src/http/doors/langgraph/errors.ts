import { Type } from 'typebox'
import { type ErrorBody, type Fault, invalid, type ServiceError } from '../../../errors.ts'
import type { ErrorShape } from '../../server/error-reply.ts'
import { toNamedError } from '../model-apis/errors.ts'

/** The path of the door: the `apiUrl` of its clients ends with the prefix. */
export const prefix = '/langgraph'

/** The error shape of LangGraph's Agent Server. */
export const DetailReply = Type.Object({ detail: Type.String() })

/** The message names the faulty field. */
export function toDetail(error: ErrorBody): Type.Static<typeof DetailReply> {
  return { detail: toNamedError(error).message }
}

export const langGraphErrors: ErrorShape = {
  prefix,
  bodyErrors: {},
  refuse: (reply, error) => reply.code(error.status_code).send(toDetail(error)),
  fail: (reply, error) => reply.code(error.status_code).send(toDetail(error)),
}

/** The refusal of a field that the service would otherwise ignore. `instead`: what the caller can do. */
export function notOffered(loc: Fault['loc'], instead: string): ServiceError {
  return invalid(loc, `is not offered: ${instead}`)
}
