import {
  A2AError,
  JsonRpcTransportError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  toJsonRpcError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import { ServiceError, toErrorBody, type ErrorCode } from '../../../errors.ts'
import { countDenial } from '../../server/error-reply.ts'
import { type Caller, refusedCode } from '../protocols.ts'
import { toGoogleStatus, type GoogleStatus } from './google-status.ts'

const errorClasses: Partial<Record<ErrorCode, new (message: string) => A2AError>> = {
  not_found: TaskNotFoundError,
  gone: TaskNotFoundError,
  run_ended: TaskNotCancelableError,
  not_interrupted: UnsupportedOperationError,
  already_decided: UnsupportedOperationError,
  session_interrupted: UnsupportedOperationError,
  validation: RequestMalformedError,
  invalid_input: RequestMalformedError,
  input_too_large: RequestMalformedError,
  request_id_reused: RequestMalformedError,
}

/** Converts an error to an A2A error. Unexpected errors become "Internal server error." without details. */
export function toA2aError(error: unknown): A2AError {
  if (error instanceof A2AError) return error
  if (!(error instanceof ServiceError) || error.code === 'internal') return new A2AError('Internal server error.')
  if (error.code === 'forbidden') {
    return new JsonRpcTransportError({ jsonrpc: '2.0', id: null, error: { code: refusedCode, message: error.message } })
  }
  return new (errorClasses[error.code] ?? A2AError)(error.message)
}

/** The error of a used up budget: A2A has no error class. Undefined for any further error. */
export function budgetStatusOf(error: unknown): GoogleStatus | undefined {
  return error instanceof ServiceError && error.code === 'budget_exceeded' ? toGoogleStatus(toErrorBody(error)) : undefined
}

/** A JSON-RPC error. `cause`: the error of this service, if there is one. */
export function toRpcError(error: unknown, cause: unknown = error): ReturnType<typeof toJsonRpcError> {
  const status = budgetStatusOf(cause)
  if (!status) return toJsonRpcError(toA2aError(error))
  return { code: refusedCode, message: status.error.message, data: status.error.details }
}

export interface MappedHandler {
  handler: A2ARequestHandler
  /** The original of the last error; undefined before the first. */
  thrown(): unknown
}

/**
 * Maps errors of the handler to A2A errors, since the library sends the message of any thrown error to the client. Unexpected errors are logged
 * and become "Internal server error.".
 */
export function withErrorMapping(handler: A2ARequestHandler, { request }: Pick<Caller, 'request'>): MappedHandler {
  let thrown: unknown
  const fail = (error: unknown): never => {
    const mapped = toA2aError(error)
    thrown = error
    countDenial(request, error)
    if (!(error instanceof ServiceError) && mapped !== error) request.log.error({ err: error }, 'unexpected failure')
    throw mapped
  }
  const withMapping =
    (work: (...params: never[]) => Answer) =>
    (...params: never[]) => {
      const answer = work(...params)
      return Symbol.asyncIterator in answer ? mapStream(answer, fail) : answer.catch(fail)
    }
  const mapped = Object.entries(handler).map(([name, work]) => [name, withMapping(work as (...params: never[]) => Answer)])
  return { handler: Object.fromEntries(mapped) as A2ARequestHandler, thrown: () => thrown }
}

/** What a method of the handler returns. */
type Answer = Promise<unknown> | AsyncGenerator<unknown, void, undefined>

async function* mapStream(
  events: AsyncGenerator<unknown, void, undefined>,
  fail: (error: unknown) => never,
): AsyncGenerator<unknown, void> {
  try {
    yield* events
  } catch (error) {
    fail(error)
  }
}
