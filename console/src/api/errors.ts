import { AgentCoreError, type Schema } from '../../../client/src/index.ts'

/** HTTP status of an error that the client has thrown; 0 where the service was not reached. */
export function statusOf(error: unknown): number {
  return error instanceof AgentCoreError ? error.status : 0
}

/** The details of an error of the service; undefined for other errors. */
export function detailsOf(error: unknown): Schema<'Error'>['details'] {
  return error instanceof AgentCoreError && error.errorType !== 'NetworkError' ? (error.details as Schema<'Error'>['details']) : undefined
}

/** Text for the user: the error of the service, or the reason why the service could not be reached. */
export function messageOf(error: unknown): string {
  if (isConnectionError(error)) return 'The service cannot be reached.'
  return error instanceof Error ? error.message : 'The request failed.'
}

export function isConnectionError(error: unknown): boolean {
  return error instanceof AgentCoreError && error.errorType === 'NetworkError'
}
