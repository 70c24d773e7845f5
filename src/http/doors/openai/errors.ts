import { type ErrorBody, type Fault, isOfBudget } from '../../../errors.ts'
import type { ErrorShape } from '../../server/error-reply.ts'
import { statusOfModelApi, toNamedError, withoutFutileRetries } from '../model-apis/errors.ts'

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

/** Converts an error to the error shape of OpenAI's API. */
export function toOpenAiError(error: ErrorBody): OpenAiError {
  const { status_code: status, details } = error
  const { message, param, fault } = toNamedError(error)
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
  requestIdHeader: 'x-request-id',
  bodyErrors: {},
  ...withoutFutileRetries((reply, error) => reply.code(statusOfModelApi(error.status_code)).send(toOpenAiError(error))),
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
