import { fieldsOf } from '../json/shape.ts'

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
