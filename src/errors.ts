/** HTTP status and `details.error_type` of each error code. */
const failures = {
  invalid_input: { status: 400, errorType: 'InvalidInput' },
  unauthorized: { status: 401, errorType: 'Unauthorized' },
  forbidden: { status: 403, errorType: 'Forbidden' },
  not_found: { status: 404, errorType: 'NotFound' },
  method_not_allowed: { status: 405, errorType: 'MethodNotAllowed' },
  request_timeout: { status: 408, errorType: 'RequestTimeout' },
  session_busy: { status: 409, errorType: 'SessionBusy' },
  session_interrupted: { status: 409, errorType: 'SessionInterrupted' },
  request_id_reused: { status: 409, errorType: 'RequestIdReused' },
  cancelled: { status: 409, errorType: 'Cancelled' },
  sub_agent_exists: { status: 409, errorType: 'SubAgentExists' },
  sub_agent_limit: { status: 409, errorType: 'SubAgentLimit' },
  run_ended: { status: 409, errorType: 'RunEnded' },
  run_not_ended: { status: 409, errorType: 'RunNotEnded' },
  ambiguous_run: { status: 409, errorType: 'AmbiguousRun' },
  not_interrupted: { status: 409, errorType: 'NotInterrupted' },
  already_decided: { status: 409, errorType: 'AlreadyDecided' },
  approval_required: { status: 409, errorType: 'ApprovalRequired' },
  definition_changed: { status: 409, errorType: 'DefinitionChanged' },
  callback_delivered: { status: 409, errorType: 'CallbackDelivered' },
  gone: { status: 410, errorType: 'Gone' },
  precondition_failed: { status: 412, errorType: 'PreconditionFailed' },
  input_too_large: { status: 413, errorType: 'MaxInputException' },
  unsupported_media_type: { status: 415, errorType: 'UnsupportedMediaType' },
  validation: { status: 422, errorType: 'ValidationError' },
  rate_limited: { status: 429, errorType: 'RateLimited' },
  copy_failed: { status: 500, errorType: 'Exception' },
  internal: { status: 500, errorType: 'Exception' },
  model_unavailable: { status: 502, errorType: 'ModelUnavailable' },
  tool_not_ready: { status: 503, errorType: 'ToolNotReady' },
  process_lost: { status: 503, errorType: 'ProcessLost' },
  configuration_not_stored: { status: 503, errorType: 'ConfigurationNotStored' },
  artifacts_unavailable: { status: 503, errorType: 'ArtifactsUnavailable' },
  store_unavailable: { status: 503, errorType: 'StoreUnavailable' },
  console_not_built: { status: 503, errorType: 'ConsoleNotBuilt' },
  overloaded: { status: 503, errorType: 'Overloaded' },
} as const satisfies Record<string, { status: number; errorType: string }>

export type ErrorCode = keyof typeof failures

/** A fault in a request: its path (`['body', 'messages', 0, 'role']`), a sentence for the caller, and the name of the rule. */
export interface Fault {
  loc: (string | number)[]
  msg: string
  type: string
  /** Line of a text that was sent, from 1. */
  line?: number
}

/** Body of every error response. */
export interface ErrorBody {
  body: string
  status_code: number
  details?: { error_type: string; [key: string]: unknown }
}

export interface ErrorOptions {
  cause?: unknown
  /** Faults of a `validation` error. */
  faults?: Fault[]
  /** Seconds until a retry makes sense, for the header `retry-after`. */
  retryAfter?: number
}

/** An error whose `message` is safe to show to the caller; `cause` is for the log alone. */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly faults: Fault[]
  readonly retryAfter: number | undefined

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.name = 'ServiceError'
    this.code = code
    this.faults = options.faults ?? []
    this.retryAfter = options.retryAfter
  }
}

/** A `validation` error with a single fault. `loc` begins with `body`, `query`, `path` or `header`. */
export function invalid(loc: (string | number)[], msg: string, type = 'value_error'): ServiceError {
  return new ServiceError('validation', `${loc.join('.')}: ${msg}`, { faults: [{ loc, msg, type }] })
}

export function statusOf(code: ErrorCode): number {
  return failures[code].status
}

/** Body of the response for anything thrown. The message of an error other than `ServiceError` stays hidden. */
export function toErrorBody(error: unknown): ErrorBody {
  const serviceError = error instanceof ServiceError ? error : undefined
  const failure = failures[serviceError?.code ?? 'internal']
  return {
    body: serviceError && serviceError.code !== 'internal' ? serviceError.message : 'Internal server error.',
    status_code: failure.status,
    details: { error_type: failure.errorType, ...(serviceError && serviceError.faults.length > 0 ? { errors: serviceError.faults } : {}) },
  }
}

/** The message of anything thrown, for logs and for errors with a cause. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The message with the message of the cause: often only the cause names the failure, as with errors of the database driver. */
export function messageWithCause(error: unknown): string {
  const message = messageOf(error)
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && !message.includes(cause.message) ? `${message} ${cause.message}` : message
}
