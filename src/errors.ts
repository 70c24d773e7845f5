import { errorTypes, type ErrorCode, type ErrorType } from './error-types.ts'

export type { ErrorCode } from './error-types.ts'

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
  /** Further fields of `details`. */
  details?: Readonly<Record<string, unknown>>
  /** Seconds until a retry makes sense, for the header `retry-after`. Default: those of the error's type, if it has any. */
  retryAfter?: number
}

/** An error whose `message` is safe to show to the caller; `cause` is for the log alone. */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly faults: Fault[]
  readonly details: Readonly<Record<string, unknown>>
  readonly retryAfter: number | undefined

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.name = 'ServiceError'
    this.code = code
    this.faults = options.faults ?? []
    this.details = options.details ?? {}
    this.retryAfter = options.retryAfter ?? typeOf(code).retryAfter
  }
}

/** A `validation` error with a single fault. `loc` begins with `body`, `query`, `path` or `header`. */
export function invalid(loc: (string | number)[], msg: string, type = 'value_error'): ServiceError {
  return new ServiceError('validation', `${loc.join('.')}: ${msg}`, { faults: [{ loc, msg, type }] })
}

export function statusOf(code: ErrorCode): number {
  return errorTypes[code].status
}

/** True for the error of a budget, which clients must not send again at once. */
export function isOfBudget({ details }: ErrorBody): boolean {
  return details?.error_type === errorTypes.budget_exceeded.errorType
}

/** True where the process has no room for the request at the moment. */
export function isOverload({ details }: ErrorBody): boolean {
  return details?.error_type === errorTypes.overloaded.errorType
}

/** Seconds until a retry makes sense after an error of which only the body is known, such as the stored error of a run. */
export function retryAfterOf({ details }: ErrorBody): number | undefined {
  if (typeof details?.['resets_at'] === 'string') return Math.max(1, Math.ceil((Date.parse(details['resets_at']) - Date.now()) / 1000))
  return Object.values<ErrorType>(errorTypes).find(({ errorType }) => errorType === details?.error_type)?.retryAfter
}

function typeOf(code: ErrorCode): ErrorType {
  return errorTypes[code]
}

/** Body of the response for anything thrown. The message of an error other than `ServiceError` stays hidden. */
export function toErrorBody(error: unknown): ErrorBody {
  const serviceError = error instanceof ServiceError ? error : undefined
  const failure = errorTypes[serviceError?.code ?? 'internal']
  return {
    body: serviceError && serviceError.code !== 'internal' ? serviceError.message : 'Internal server error.',
    status_code: failure.status,
    details: {
      error_type: failure.errorType,
      ...(serviceError && serviceError.faults.length > 0 ? { errors: serviceError.faults } : {}),
      ...serviceError?.details,
    },
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

/** The path of a field in a body, such as `messages[0].role`. */
export function toParam(path: readonly (string | number)[]): string {
  return path.map((segment, index) => (typeof segment === 'number' ? `[${segment}]` : index === 0 ? segment : `.${segment}`)).join('')
}

/** The position of a field of a body, as errors name it. */
export function labelOf([, ...path]: Fault['loc']): string {
  return toParam(path)
}
