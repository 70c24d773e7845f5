/** An error of the service: HTTP status, `details.error_type`, when it happens, and what the caller or the operator does about it. */
export interface ErrorType {
  status: number
  errorType: string
  /** Seconds until a retry makes sense, unless the error itself knows better. */
  retryAfter?: number
  /** The last two fields are for the reference. */
  when: string
  remedy: string
}
