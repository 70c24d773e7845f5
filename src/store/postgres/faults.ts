import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../../errors.ts'

/**
 * What became of a query that failed:
 * `lost`: its connection is of no use any more, and whatever it had not committed is undone.
 * `undone`: the server undid its transaction, which may go well the next time.
 * `refused`: the server has no room, or the query took too long.
 */
export type Fault = 'lost' | 'undone' | 'refused'

/** By SQLSTATE, whole or its class: https://www.postgresql.org/docs/current/errcodes-appendix.html */
const faults: Readonly<Record<string, Fault>> = {
  '08': 'lost',
  // The connection has stayed at a server that was the first one before a failover.
  '25006': 'lost',
  // Idle in a transaction for too long.
  '25P03': 'lost',
  '57P01': 'lost',
  '57P02': 'lost',
  '57P03': 'lost',
  // No free place for another connection.
  '53300': 'lost',
  '40001': 'undone',
  '40P01': 'undone',
  '55P03': 'undone',
  '53': 'refused',
  '57014': 'refused',
}

/** A prepared statement whose table has changed since, as when a later version has just migrated it. */
export function isStale(error: unknown): boolean {
  return error instanceof Error && (error as { routine?: unknown }).routine === 'RevalidateCachedQuery'
}

/** Undefined for what is no fault of the server or the way to it. */
export function faultOf(error: unknown): Fault | undefined {
  if (!(error instanceof Error)) return undefined
  if (isOfDriver(error)) return 'lost'
  if (isStale(error)) return 'undone'
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? (faults[code] ?? faults[code.slice(0, 2)]) : undefined
}

/** Its own errors, and those of sockets: their codes are no SQLSTATE, though EPIPE looks like one. */
function isOfDriver(error: Error): boolean {
  // Several: where a name has several addresses, and none answers.
  return 'syscall' in error || error instanceof AggregateError || messages.test(error.message)
}

const messages =
  /^(Connection terminated|Client (was closed|has encountered)|Query read timeout|timeout (exceeded|expired)|There was an error establishing an SSL)/

/** The attempt failed and changed nothing: it may be made again. */
export class RetryableFault extends Error {
  constructor(cause: unknown) {
    super('The database did not answer.', { cause })
    this.name = 'RetryableFault'
  }
}

export function storeUnavailable(cause: unknown): ServiceError {
  return new ServiceError('store_unavailable', 'The database can not be reached at the moment.', { cause, retryAfter: 5 })
}

const firstDelayMs = 50
const maxDelayMs = 1000

/** Makes attempts until one does not reject with `MayComeAgain`, for so long at most; then it rejects with `store_unavailable`. */
export async function withRetries<T>(retryForMs: number, attempt: () => Promise<T>): Promise<T> {
  const until = performance.now() + retryForMs
  for (let delayMs = firstDelayMs; ; delayMs = Math.min(delayMs * 2, maxDelayMs)) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof RetryableFault)) throw error
      // Not all at once.
      const waitMs = delayMs * (0.5 + Math.random() / 2)
      if (performance.now() + waitMs > until) throw storeUnavailable(error.cause)
      await sleep(waitMs)
    }
  }
}
