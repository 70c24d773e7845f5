/** What the client throws for an answer that is not 2xx: the status, and the service's text. */
interface ServiceFault {
  status: number
  message: string
}

/** HTTP status of an error that the client has thrown; 0 where the service was not reached. */
export function statusOf(error: unknown): number {
  return isServiceFault(error) ? error.status : 0
}

/** Text for the user: what the service said, or why it could not be asked. */
export function messageOf(error: unknown): string {
  if (isServiceFault(error)) return error.message
  if (error instanceof TypeError) return 'The service cannot be reached.'
  return error instanceof Error ? error.message : 'The request failed.'
}

function isServiceFault(error: unknown): error is ServiceFault {
  return error instanceof Error && typeof (error as Partial<ServiceFault>).status === 'number'
}
