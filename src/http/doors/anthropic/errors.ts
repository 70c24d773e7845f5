import type { FastifyRequest } from 'fastify'
import { type ErrorBody, isOfBudget, isOverload } from '../../../errors.ts'
import type { ErrorShape } from '../../server/error-reply.ts'
import { statusOfModelApi, toNamedError, withoutFutileRetries } from '../model-apis/errors.ts'

/** The error shape of Anthropic's API. */
export interface AnthropicError {
  type: 'error'
  error: { type: string; message: string; details?: object }
  request_id: string
}

/** Anthropic's API has a status of its own for an overload. */
export function anthropicStatus(error: ErrorBody): number {
  return isOverload(error) ? 529 : statusOfModelApi(error.status_code)
}

/** The code by which a client learns that it has to send the whole conversation itself. */
export const noThreads = 'thread_unsupported_request'

const types: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

export function toAnthropicError(error: ErrorBody, requestId: string): AnthropicError {
  const status = anthropicStatus(error)
  const type = isOfBudget(error) ? 'billing_error' : (types[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error'))
  const { message, fault } = toNamedError(error)
  const details = fault?.type === noThreads ? { error_code: noThreads, unsupported: [message] } : undefined
  return { type: 'error', error: { type, message, ...(details && { details }) }, request_id: requestId }
}

/** The errors of the routes for Anthropic's clients, which read the request id from `request-id`, as every client of this service. */
export const anthropicErrors: ErrorShape = {
  bodyErrors: {},
  ...withoutFutileRetries((reply, error) => reply.code(anthropicStatus(error)).send(toAnthropicError(error, reply.request.id))),
}

/** Whether a client of Anthropic's API sends the request, to a path that OpenAI's API has too. */
export function isOfAnthropic({ headers }: FastifyRequest): boolean {
  return headers['anthropic-version'] !== undefined
}
