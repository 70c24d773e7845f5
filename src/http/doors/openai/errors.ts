import type { FastifyReply } from 'fastify'
import { type ErrorBody, type Fault, isOfBudget, toParam } from '../../../errors.ts'
import type { ErrorShape } from '../../server/error-reply.ts'

/** The error shape of OpenAI's API. */
export interface OpenAiError {
  error: {
    message: string
    type: string
    /** The faulty field, such as `messages[0].role`. */
    param: string | null
    code: string | null
  }
}

/** OpenAI's API has no 422; validation errors are 400. */
export function openAiStatus(status: number): number {
  return status === 422 ? 400 : status
}

/** Converts an error to the error shape of OpenAI's API. */
export function toOpenAiError(error: ErrorBody): OpenAiError {
  const { body, status_code: status, details } = error
  const fault = mostSpecific((details?.['errors'] ?? []) as Fault[])
  const [, ...path] = fault?.loc ?? []
  const param = path.length > 0 ? toParam(path) : null
  const message = fault && param !== null ? `${param}: ${fault.msg}` : body
  return {
    error: {
      message,
      type: isOfBudget(error) ? noQuota : (types[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error')),
      param,
      code: codeOf(fault, details),
    },
  }
}

/** The errors of the routes for OpenAI clients, which read the request id from `x-request-id`. */
export const openAiErrors: ErrorShape = {
  prefix: '/v1',
  requestIdHeader: 'x-request-id',
  bodyErrors: {},
  /** OpenAI clients retry any 409. Only a 409 with `retry-after` can succeed later, so the others set `x-should-retry: false`. */
  refuse(reply, error) {
    if (error.status_code === 409 && !reply.hasHeader('retry-after')) void reply.header('x-should-retry', 'false')
    return send(reply, error)
  },
  /**
   * OpenAI clients retry a failed run automatically. With a request id of the caller, a retry continues the run. Without a request id, a retry would
   * start a second run, and its tools would repeat their effects.
   */
  fail(reply, error) {
    if (reply.request.headers['request-id'] === undefined) void reply.header('x-should-retry', 'false')
    return send(reply, error)
  },
}

function send(reply: FastifyReply, error: ErrorBody): FastifyReply {
  return reply.code(openAiStatus(error.status_code)).send(toOpenAiError(error))
}

/** The word of OpenAI for a limit without retries; clients try again after a `rate_limit_error`. */
export const noQuota = 'insufficient_quota'

const types: Record<number, string> = { 401: 'authentication_error', 403: 'permission_error', 429: 'rate_limit_error' }

const codes: Record<string, string> = {
  Unauthorized: 'invalid_api_key',
  Forbidden: 'insufficient_permissions',
  RateLimited: 'rate_limit_exceeded',
  MaxInputException: 'input_too_large',
  Exception: 'server_error',
}

const faultCodes: Record<string, string> = {
  missing: 'missing_required_parameter',
  json_invalid: 'invalid_json',
  unsupported_parameter: 'unsupported_parameter',
  model_not_found: 'model_not_found',
  previous_response_not_found: 'previous_response_not_found',
  not_found: 'not_found',
}

function codeOf(fault: Fault | undefined, details: ErrorBody['details']): string | null {
  if (fault) return faultCodes[fault.type] ?? 'invalid_value'
  const type = details?.error_type
  return type === undefined ? null : (codes[type] ?? toSnakeCase(type))
}

function toSnakeCase(name: string): string {
  return name.replace(/(?<=[a-z])[A-Z]/g, '_$&').toLowerCase()
}

/** The most helpful fault. In a union, the deepest fault belongs to the intended shape; a wrong value is more specific than a missing or mistyped one. */
function mostSpecific(faults: readonly Fault[]): Fault | undefined {
  const specificity = ({ loc, type }: Fault) => loc.length * 2 + (type === 'missing' || type === 'type' ? 0 : 1)
  return faults.reduce<Fault | undefined>((best, fault) => (best && specificity(best) >= specificity(fault) ? best : fault), undefined)
}
