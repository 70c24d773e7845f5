import { ServiceError } from '../../errors.ts'
import { PoolBusy } from '../../processes/fair-queue.ts'

/** Reads of several attachments at the same time, whose faults are reported in the order of the request. */

export type Attempt<T> = { value: T; error?: undefined } | { value?: undefined; error: unknown }

/** Seconds. */
const retryAfter = 2

/** Settles without a rejection, so that the caller can report the first fault in request order instead of the first in time. */
export function attempt<T>(work: Promise<T>): Promise<Attempt<T>> {
  return work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
}

/** The value of an attempt. Throws its fault with `at`, the position of the attachment in the request. */
export function valueOf<T>(attempted: Attempt<T>, at: string): T {
  const { value, error } = attempted
  if (error === undefined) return value as T
  if (error instanceof PoolBusy) throw new ServiceError('overloaded', `${at}: ${error.message}`, { cause: error, retryAfter })
  throw refused(at, whyUnreadable(error), error)
}

/** The reason for a failed read. System errors (with a `code`) get a general text, because their messages name paths on disk. */
export function whyUnreadable(error: unknown): string {
  return error instanceof Error && !('code' in error) ? error.message : 'it cannot be read'
}

/** Characters. A caller that mistakes `base64` for `file_path` sends megabytes as a path. */
const maxReason = 300

export function refused(at: string, reason: string, cause?: unknown): ServiceError {
  const short = reason.length > maxReason ? `${reason.slice(0, maxReason)} …` : reason.replace(/\.$/, '')
  return new ServiceError('invalid_input', `${at}: ${short}.`, { cause })
}
