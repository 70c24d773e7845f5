import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { ServiceError, type ErrorCode } from '../../../errors.ts'
import type { Caller } from '../protocol-caller.ts'

/** Errors that the client has caused by its parameters. */
const callersErrors: ReadonlySet<ErrorCode> = new Set([
  'already_decided',
  'forbidden',
  'gone',
  'input_too_large',
  'not_found',
  'not_interrupted',
  'run_ended',
  'validation',
])

/** Runs a handler, and maps its errors: the library sends the message of any thrown error to the client. Unexpected errors are only logged. */
export async function withErrorMapping<T>({ request }: Caller, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    if (error instanceof ServiceError && error.code !== 'internal') {
      const { InvalidParams, InternalError } = ProtocolErrorCode
      throw new ProtocolError(callersErrors.has(error.code) ? InvalidParams : InternalError, error.message)
    }
    request.log.error({ err: error }, 'unexpected failure')
    throw new ProtocolError(ProtocolErrorCode.InternalError, 'Internal server error.')
  }
}
