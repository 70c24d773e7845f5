import type { FastifyRequest } from 'fastify'
import type { ErrorBody, Fault } from '../../errors.ts'

/** The shape in which OpenAI's interface tells of a failure. */
export interface OpenAiError {
  error: {
    message: string
    type: string
    /** The field, as `messages[0].role`. */
    param: string | null
    code: string | null
  }
}

/** Whether a path belongs to the door for OpenAI clients, be it one of its routes or not. */
export function isOpenAi(url: string): boolean {
  return /^\/v1(?:[/?]|$)/.test(url)
}

/** That interface knows no 422. */
export function openAiStatus(status: number): number {
  return status === 422 ? 400 : status
}

/** Any failure in the shape of OpenAI's. */
export function toOpenAiError({ body, status_code: status, details }: ErrorBody): OpenAiError {
  const fault = deepest((details?.['errors'] ?? []) as Fault[])
  const [, ...place] = fault?.loc ?? []
  const param = place.length > 0 ? toParam(place) : null
  const message = fault && param !== null ? `${param}: ${fault.msg}` : body
  return {
    error: {
      message,
      type: types[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error'),
      param,
      code: codeOf(fault, details),
    },
  }
}

/**
 * Whether a run that failed may be asked for again by itself, as OpenAI's clients do. Under a request id of the caller it goes on; without
 * one another run would begin, and what its tools have done would be done twice.
 */
export function mayRetryRun({ headers }: FastifyRequest): boolean {
  return headers['request-id'] !== undefined
}

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
}

function codeOf(fault: Fault | undefined, details: ErrorBody['details']): string | null {
  if (fault) return faultCodes[fault.type] ?? 'invalid_value'
  const type = details?.error_type
  return type === undefined ? null : (codes[type] ?? toSnakeCase(type))
}

function toSnakeCase(name: string): string {
  return name.replace(/(?<=[a-z])[A-Z]/g, '_$&').toLowerCase()
}

/** Where one of several shapes may stand, the fault that lies deepest is in the shape that was meant; so is one of a value that is there. */
function deepest(faults: readonly Fault[]): Fault | undefined {
  const weigh = ({ loc, type }: Fault) => loc.length * 2 + (type === 'missing' || type === 'type' ? 0 : 1)
  return faults.reduce<Fault | undefined>((found, fault) => (found && weigh(found) >= weigh(fault) ? found : fault), undefined)
}

function toParam(place: readonly (string | number)[]): string {
  return place.map((step, at) => (typeof step === 'number' ? `[${step}]` : at === 0 ? step : `.${step}`)).join('')
}
