/** A fault of one field of a request. */
export interface FieldFault {
  /** Path of the field, such as `['body', 'messages', 0, 'content']`. */
  loc: (string | number)[]
  msg: string
  type: string
}

/** Details of an error beside the message. */
export interface ErrorDetails {
  error_type?: string
  /** The faults of a request that is not valid. */
  errors?: FieldFault[]
  [name: string]: unknown
}

interface ErrorFields {
  status: number
  errorType: string
  details?: ErrorDetails | undefined
  requestId?: string | undefined
  retryAfter?: number | undefined
  cause?: unknown
}

/** An error reply, or a fault of the network. The client throws no other error, except the reason of an aborted signal. */
export class AgentCoreError extends Error {
  override readonly name: string = 'AgentCoreError'
  /** The HTTP status; 0 without a reply. */
  readonly status: number
  /** Such as `SessionBusy` or `ValidationError`. `NetworkError` without a reply, `InvalidReply` for a reply that cannot be read. */
  readonly errorType: string
  readonly details: ErrorDetails
  /** The id of the request, under which the service logs; undefined without a reply. */
  readonly requestId: string | undefined
  /** Seconds to wait before trying again, if the service says so. */
  readonly retryAfter: number | undefined

  constructor(message: string, { status, errorType, details = {}, requestId, retryAfter, cause }: ErrorFields) {
    super(message, cause === undefined ? undefined : { cause })
    this.status = status
    this.errorType = errorType
    this.details = details
    this.requestId = requestId
    this.retryAfter = retryAfter
  }
}

/** A budget cannot pay for the model calls of a chat. `details` has amounts where the key may read the budget. */
export class BudgetExceededError extends AgentCoreError {
  override readonly name = 'BudgetExceededError'
  /** The name of the budget. */
  readonly budget: string
  /** When the budget is whole again; undefined for the budget of a run or session. */
  readonly resetsAt: Date | undefined

  constructor(message: string, fields: ErrorFields) {
    super(message, fields)
    const { budget, resets_at: resetsAt } = this.details
    this.budget = typeof budget === 'string' ? budget : ''
    this.resetsAt = typeof resetsAt === 'string' ? new Date(resetsAt) : undefined
  }
}

/** The error of a reply, or of the end of a run. */
function createError(message: string, fields: ErrorFields): AgentCoreError {
  return fields.errorType === 'BudgetExceeded' ? new BudgetExceededError(message, fields) : new AgentCoreError(message, fields)
}

/** A fault of the network: no reply, or an incomplete reply. */
export function networkError(message: string, cause?: unknown): AgentCoreError {
  return new AgentCoreError(message, { status: 0, errorType: 'NetworkError', cause })
}

/** The error of a request without a reply. The code of a system error, such as `ECONNREFUSED`, stands in the message. */
export function unreachable(url: string, cause: unknown): AgentCoreError {
  const { code } = ((cause as Error | undefined)?.cause ?? cause ?? {}) as { code?: unknown }
  const reason = typeof code === 'string' ? ` (${code})` : ''
  return networkError(`${url} cannot be reached${reason}.`, cause)
}

/** Reads an error reply of the service, or of a proxy in front of the service. */
export async function readError(response: Response): Promise<AgentCoreError> {
  const reply = await response.text().then(parseJson, () => undefined)
  return toError(reply, response.status, response.headers)
}

function toError(reply: unknown, status: number, headers: Headers): AgentCoreError {
  const { body, detail, details } = (isObject(reply) ? reply : {}) as { body?: unknown; detail?: unknown; details?: unknown }
  const requestId = headers.get('request-id') ?? undefined
  const fields = { status, requestId, retryAfter: parseRetryAfter(headers.get('retry-after')) }
  if (Array.isArray(detail)) {
    const errors = detail as FieldFault[]
    const message = errors.map(describeFault).join('; ')
    return new AgentCoreError(message, { ...fields, errorType: 'ValidationError', details: { error_type: 'ValidationError', errors } })
  }
  const stated = isObject(details) ? (details as ErrorDetails) : {}
  const message = typeof body === 'string' && body !== '' ? body : `The service answered with status ${status}.`
  return createError(message, { ...fields, errorType: stated.error_type ?? 'Exception', details: stated })
}

function describeFault({ loc, msg }: FieldFault): string {
  const field = Array.isArray(loc) ? loc.slice(1).join('.') : ''
  return field === '' ? msg : `${field}: ${msg}`
}

/** Seconds of a `retry-after` header, which states seconds or a date. */
function parseRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined
  if (/^\d{1,9}$/.test(value.trim())) return Number(value)
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - Date.now()) / 1000))
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
