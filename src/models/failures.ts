import { ModelError, type ModelErrorCode } from '../agent/model.ts'
import { fieldsOf } from '../json/shape.ts'
import type { Timeouts } from './connections.ts'

/** Label of a model for error messages, and the secrets to remove from them: the key, header values, credentials and query of the URL. */
export interface Origin {
  /** Provider and model, such as `openai gpt-5-mini`. */
  label: string
  secrets: readonly string[]
}

/** Limit for reading error bodies. */
export const maxErrorBytes = 64 * 1024

const maxExcerpt = 200

/** Limit for the text searched by patterns, which bounds the time of an excerpt. */
const maxLookedThrough = 4096

/** Limit of nested errors. No provider nests deeper. */
const maxDepth = 10

/** An HTTP response without an event stream. `now` is in epoch milliseconds, names of `headers` are lower-case. */
export interface StatusResponse {
  status: number
  headers: ResponseHeaders
  body: string
  now: number
}

/** Converts a response without an event stream to an error with an excerpt of the provider's message. */
export function toStatusError(origin: Origin, { status, headers, body, now }: StatusResponse): ModelError {
  const parsed = parse(body)
  const code = isWorthAsking(parsed) ? 'unavailable' : codeOf(status)
  // Providers repeat parts of a wrong key in their message, so that message is left out.
  const message = code === 'unauthorized' ? '' : excerpt(origin, messageIn(parsed, body) || (status < 300 ? 'no event stream' : ''))
  const wait = code === 'rate_limited' || code === 'unavailable' ? readRetryAfter(headers, parsed, now) : undefined
  return new ModelError(code, `${origin.label} answered ${status}${message === '' ? '' : `: ${message}`}`, {
    retryAfterMs: wait,
    isFree: status >= 300 && !mayHaveWorked.has(status) && !isWorthAsking(parsed),
  })
}

/** Statuses of servers that stopped waiting for the model, which may have worked all the same. */
const mayHaveWorked = new Set([408, 504, 524])

function codeOf(status: number): ModelErrorCode {
  if (status === 401 || status === 403) return 'unauthorized'
  if (status === 429) return 'rate_limited'
  // 408: time-out, 409: conflict with a request in progress, 425: too early.
  if (status < 300 || status >= 500 || status === 408 || status === 409 || status === 425) return 'unavailable'
  return 'refused'
}

/** Converts an error event inside a running stream. */
export function toStreamError(origin: Origin, error: unknown): ModelError {
  const message = excerpt(origin, typeof error === 'string' ? error : messageOf(error))
  return new ModelError('unavailable', `${origin.label} broke off its answer${message === '' ? '' : `: ${message}`}`)
}

/** Converts a failed or broken connection. `hasBegun` is true if part of the answer had arrived. */
export function toConnectionError(origin: Origin, error: unknown, hasBegun: boolean): ModelError {
  const code = networkCode(error)
  const symptom = hasBegun ? 'broke off its answer' : 'could not be reached'
  const isFree = !hasBegun && code !== undefined && unconnected.has(code)
  return new ModelError('unavailable', `${origin.label} ${symptom}${code === undefined ? '' : ` (${code})`}`, { isFree })
}

/** Converts an error of a request or of the SDK. The error is not kept as `cause`: it contains the prompt and the answer, which must not be logged. */
export function toModelError(origin: Origin, error: unknown, hasBegun: boolean): unknown {
  if (error instanceof ModelError) return error
  const { name, statusCode, responseHeaders, responseBody } = error as ApiCallError
  if (statusCode !== undefined && statusCode !== 200) {
    return toStatusError(origin, { status: statusCode, headers: responseHeaders ?? {}, body: responseBody ?? '', now: Date.now() })
  }
  // The SDK rejects messages and tools unknown to the provider before sending a request.
  const isRefusal = typeof name === 'string' && name.startsWith('AI_') && name !== 'AI_APICallError' && !hasBegun
  if (isRefusal) return new ModelError('refused', `${origin.label} does not support this request (${name})`, { isFree: unsent.has(name) })
  return toConnectionError(origin, error, hasBegun)
}

/** Errors of the SDK from before it sends a request; its other errors are about an answer. */
const unsent = new Set([
  'AI_UnsupportedFunctionalityError',
  'AI_InvalidPromptError',
  'AI_InvalidArgumentError',
  'AI_LoadAPIKeyError',
  'AI_LoadSettingError',
  'AI_NoSuchModelError',
  'AI_TooManyEmbeddingValuesForCallError',
])

/** The fields of an error of the SDK. */
interface ApiCallError {
  name?: string
  statusCode?: number
  responseHeaders?: Record<string, string>
  responseBody?: string
}

/** Converts the silence of a server. `hasBegun` is true if part of the answer had arrived. */
export function toSilenceError(origin: Origin, { firstTokenMs, idleMs }: Timeouts, hasBegun: boolean): ModelError {
  const symptom = hasBegun ? `went silent for ${idleMs / 1000} s in its answer` : `did not begin its answer within ${firstTokenMs / 1000} s`
  return new ModelError('unavailable', `${origin.label} ${symptom}`)
}

/** Codes of connections that never stood. */
const unconnected = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
  ...['ERR_TLS_CERT_ALTNAME_INVALID', 'CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN'],
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** The system error code, such as `ECONNREFUSED`, which fetch puts in a chain of causes. */
function networkCode(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const { code } = at as { code?: unknown }
    if (typeof code === 'string') return code
    if (at instanceof AggregateError && at.errors.length > 0) return networkCode(at.errors[0])
  }
  return undefined
}

/** Codes of Groq for output of the model that its server could not read. Another attempt makes other output. */
const outputFailures = new Set<unknown>(['tool_use_failed', 'json_validate_failed'])

/** True for a status 400 whose cause is not the request. */
function isWorthAsking(body: unknown): boolean {
  return outputFailures.has(fieldsOf(fieldsOf(body)['error'])['code'])
}

/** The JSON of a body; undefined for another body. */
function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

function messageIn(parsed: unknown, body: string): string {
  if (parsed !== undefined) return messageOf(parsed)
  // An HTML page of a proxy has no useful message.
  return body.trimStart().startsWith('<') ? '' : body
}

/** Finds the message in the error formats of the providers. */
function messageOf(value: unknown, depth = 0): string {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null || depth > maxDepth) return ''
  if (Array.isArray(value)) return messageOf(value[0], depth + 1)
  const { error, message, detail, msg, metadata } = value as Record<string, unknown>
  // OpenRouter's own message says only that a provider refused; the words of the provider stand here.
  const { raw } = fieldsOf(metadata)
  if (typeof raw === 'string' && raw !== '') return messageOf(parse(raw) ?? raw, depth + 1)
  return messageOf(message ?? error ?? detail ?? msg, depth + 1)
}

/** Shortens a text to a line of at most 200 characters, without secrets and without the query strings of addresses. */
function excerpt(origin: Origin, text: string): string {
  let clean = text.slice(0, maxErrorBytes)
  for (const secret of origin.secrets) if (secret !== '') clean = clean.replaceAll(secret, '***')
  // The text is cut after removing secrets, because half a secret would not be found.
  clean = clean
    .slice(0, maxLookedThrough)
    .replace(/(https?:\/\/)[^\s/@]*@/g, '$1')
    .replace(/(https?:\/\/[^\s?#"']*)(?:[?#][^\s"']*)?/g, '$1')
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
  return clean.length > maxExcerpt ? `${clean.slice(0, maxExcerpt - 1)}…` : clean
}

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>

/**
 * Milliseconds to wait as a provider requests: from `retry-after-ms`, `retry-after` in seconds or as an HTTP date, or Google's `RetryInfo` in
 * the body. Undefined without such a request.
 */
export function readRetryAfter(headers: ResponseHeaders, body: unknown, now: number): number | undefined {
  const exact = Number(headers['retry-after-ms'] || NaN)
  if (exact >= 0) return exact
  return fromHeader(headers['retry-after'], now) ?? fromBody(body)
}

function fromHeader(value: string | string[] | undefined, now: number): number | undefined {
  if (typeof value !== 'string' || value.trim() === '') return undefined
  const seconds = Number(value)
  if (seconds >= 0) return seconds * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/** Google's OpenAI address puts its error in an array. */
function fromBody(body: unknown): number | undefined {
  const { error } = fieldsOf(Array.isArray(body) ? body[0] : body)
  const { details } = fieldsOf(error)
  if (!Array.isArray(details)) return undefined
  for (const detail of details.slice(0, maxDetails)) {
    const { '@type': type, retryDelay: delay } = fieldsOf(detail)
    if (!String(type).endsWith('google.rpc.RetryInfo') || typeof delay !== 'string') continue
    const seconds = Number(/^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(delay)?.[1] ?? NaN)
    if (seconds >= 0) return Math.ceil(seconds * 1000)
  }
  return undefined
}

/** Google sends three details at most. */
const maxDetails = 20

/** Limits for replies of model servers, for all protocols. */

/** Limit of tool calls in an answer. Each call is a step of the run, which is stored and sent to readers. */
const maxCalls = 500

/** Limit of the characters of an answer, so that an endless answer cannot fill the memory. */
export const maxCharacters = 16 * 1024 * 1024

/** Throws `ModelError` if an answer has too many tool calls. */
export function checkCallCount(count: number, origin: Origin): void {
  if (count > maxCalls) throw toStreamError(origin, `the answer has more than ${maxCalls} tool calls`)
}

/** The failure of an answer with more than `maxCharacters`. */
export function toLengthError(origin: Origin): ModelError {
  return toStreamError(origin, 'the answer is too long')
}
