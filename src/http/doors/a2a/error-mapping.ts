import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import { ServiceError } from '../../../errors.ts'
import type { Caller } from '../protocol-caller.ts'
import { toA2aError } from './errors.ts'

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
