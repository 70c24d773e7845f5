import {
  A2AError,
  JsonRpcTransportError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import { ServiceError, type ErrorCode } from '../../../errors.ts'

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

/** JSON-RPC reserves -32000 for servers. A2A has no code for a missing permission. */
const forbiddenCode = -32000

/** Converts an error to an A2A error. Unexpected errors become "Internal server error." without details. */
export function toA2aError(error: unknown): A2AError {
  if (error instanceof A2AError) return error
  if (!(error instanceof ServiceError) || error.code === 'internal') return new A2AError('Internal server error.')
  if (error.code === 'forbidden') {
    return new JsonRpcTransportError({ jsonrpc: '2.0', id: null, error: { code: forbiddenCode, message: error.message } })
  }
  return new (errorClasses[error.code] ?? A2AError)(error.message)
}
