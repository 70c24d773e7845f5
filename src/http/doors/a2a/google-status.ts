import { type ErrorBody, type Fault, isOfBudget } from '../../../errors.ts'
import type { ErrorShape } from '../../server/error-reply.ts'

/** An error of the HTTP+JSON binding: `google.rpc.Status` (A2A 1.0, 11.6). */
export interface GoogleStatus {
  error: { code: number; status: string; message: string; details: ({ '@type': string } & Record<string, unknown>)[] }
}

/** The media type of the binding (A2A 1.0, 14.1). */
export const a2aType = 'application/a2a+json'

/** The media type of an answer to a request: the one of the binding, unless `accept` names plain JSON alone. */
export function a2aTypeOf({ headers: { accept = '' } }: { headers: { accept?: string | undefined } }): string {
  const ranges = accept.toLowerCase().split(',')
  const types = ranges.map((range) => range.split(';')[0]!.trim())
  return types.includes('application/json') && !types.includes(a2aType) ? 'application/json' : a2aType
}

/** The errors of the HTTP+JSON binding. */
export const googleErrors: ErrorShape = {
  prefix: '/a2a/v1',
  bodyErrors: {},
  refuse(reply, body) {
    const status = toGoogleStatus(body)
    return reply.code(status.error.code).type(a2aTypeOf(reply.request)).send(status)
  },
}

/** Converts an error of this service. The A2A library, which has errors of its own, is not needed. */
export function toGoogleStatus(error: ErrorBody): GoogleStatus {
  const { body, status_code, details } = error
  // The binding has no 422: a request that is not valid is 400.
  const code = status_code === 422 ? 400 : status_code
  const faults = (details?.['errors'] ?? []) as Fault[]
  const violations = faults.map(({ loc: [, ...path], msg }) => ({ field: path.join('.'), description: msg }))
  return {
    error: {
      code,
      status: statusNames[code] ?? (code < 500 ? 'FAILED_PRECONDITION' : 'INTERNAL'),
      message: body,
      details: [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', ...reasonOf(code, details?.error_type), ...budgetIn(error) },
        ...(violations.length > 0 ? [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations }] : []),
      ],
    },
  }
}

const statusNames: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  413: 'RESOURCE_EXHAUSTED',
  415: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
}

/** The used up budget, with the end of the window. Values of the metadata are texts. */
function budgetIn(error: ErrorBody): { metadata?: Record<string, unknown> } {
  if (!isOfBudget(error)) return {}
  const { error_type: _, ...fields } = error.details!
  return { metadata: Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value === 'string')) }
}

/** Reasons of the specification have the specification's domain, all other errors the service's domain. */
function reasonOf(code: number, errorType = 'Exception'): { reason: string; domain: string } {
  if (code === 400) return { reason: 'INVALID_PARAMS', domain: 'a2a-protocol.org' }
  if (code === 415) return { reason: 'CONTENT_TYPE_NOT_SUPPORTED', domain: 'a2a-protocol.org' }
  return { reason: errorType.replace(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase(), domain: 'agent-core' }
}
