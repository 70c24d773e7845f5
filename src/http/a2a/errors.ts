import { A2AError, RequestMalformedError, TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError } from '@a2a-js/sdk/errors'
import { ServiceError, type ErrorCode } from '../../errors.ts'

const known: Partial<Record<ErrorCode, new (message: string) => A2AError>> = {
  not_found: TaskNotFoundError,
  gone: TaskNotFoundError,
  run_ended: TaskNotCancelableError,
  not_interrupted: UnsupportedOperationError,
  already_decided: UnsupportedOperationError,
  session_interrupted: UnsupportedOperationError,
  validation: RequestMalformedError,
  invalid_input: RequestMalformedError,
  input_too_large: RequestMalformedError,
}

/** A refusal in the words of the protocol; of a bug nothing is told. */
export function toA2aError(error: unknown): A2AError {
  if (error instanceof A2AError) return error
  if (!(error instanceof ServiceError) || error.code === 'internal') return new A2AError('Internal server error.')
  return new (known[error.code] ?? A2AError)(error.message)
}
