import {
  A2AError,
  JsonRpcTransportError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import { ServiceError, type ErrorCode } from '../../../errors.ts'
import type { Caller } from '../protocols.ts'

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
  const toMapped = (error: unknown) => {
    const mapped = toA2aError(error)
    thrown = error
    if (!(error instanceof ServiceError) && mapped !== error) request.log.error({ err: error }, 'unexpected failure')
    return mapped
  }
  const mapPromise =
    <P extends unknown[], R>(work: (...params: P) => Promise<R>) =>
    (...params: P): Promise<R> =>
      work(...params).catch((error: unknown) => {
        throw toMapped(error)
      })
  const mapStream = <P extends unknown[], R>(work: (...params: P) => AsyncGenerator<R, void, undefined>) =>
    async function* (...params: P): AsyncGenerator<R, void, undefined> {
      try {
        yield* work(...params)
      } catch (error) {
        throw toMapped(error)
      }
    }
  return {
    handler: {
      getAgentCard: mapPromise(handler.getAgentCard),
      getAuthenticatedExtendedAgentCard: mapPromise(handler.getAuthenticatedExtendedAgentCard),
      sendMessage: mapPromise(handler.sendMessage),
      sendMessageStream: mapStream(handler.sendMessageStream),
      getTask: mapPromise(handler.getTask),
      listTasks: mapPromise(handler.listTasks),
      cancelTask: mapPromise(handler.cancelTask),
      resubscribe: mapStream(handler.resubscribe),
      createTaskPushNotificationConfig: mapPromise(handler.createTaskPushNotificationConfig),
      getTaskPushNotificationConfig: mapPromise(handler.getTaskPushNotificationConfig),
      listTaskPushNotificationConfigs: mapPromise(handler.listTaskPushNotificationConfigs),
      deleteTaskPushNotificationConfig: mapPromise(handler.deleteTaskPushNotificationConfig),
    },
    thrown: () => thrown,
  }
}
