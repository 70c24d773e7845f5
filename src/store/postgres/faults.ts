import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../../errors.ts'
import { reachState } from '../../states.ts'

/**
 * Kind of a failed query.
 * `lost`: the connection is broken, and its uncommitted changes are rolled back.
 * `undone`: the server rolled back the transaction; a retry may succeed.
 * `refused`: the server lacks resources, or the query took too long.
 */
export type Fault = 'lost' | 'undone' | 'refused'

/** Faults by SQLSTATE or SQLSTATE class: https://www.postgresql.org/docs/current/errcodes-appendix.html */
const faults: Readonly<Record<string, Fault>> = {
  '08': 'lost',
  // Read-only transaction: the connection still leads to the former primary after a failover.
  '25006': 'lost',
  // Idle in a transaction for too long.
  '25P03': 'lost',
  '57P01': 'lost',
  '57P02': 'lost',
  '57P03': 'lost',
  // Too many connections.
  '53300': 'lost',
  '40001': 'undone',
  '40P01': 'undone',
  '55P03': 'undone',
  '53': 'refused',
  '57014': 'refused',
}

/** True when the table of a prepared statement has changed, as after a migration by a later version. */
export function isStale(error: unknown): boolean {
  return error instanceof Error && (error as { routine?: unknown }).routine === 'RevalidateCachedQuery'
}

/** Undefined for errors that are not caused by the server or the network. */
export function faultOf(error: unknown): Fault | undefined {
  if (!(error instanceof Error)) return undefined
  if (isOfDriver(error)) return 'lost'
  if (isStale(error)) return 'undone'
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? (faults[code] ?? faults[code.slice(0, 2)]) : undefined
}

/** True when the driver or a socket raised the error. Their codes are no SQLSTATE, although EPIPE looks like one. */
function isOfDriver(error: Error): boolean {
  // An AggregateError means that no address of the host name answers.
  return 'syscall' in error || error instanceof AggregateError || messages.test(error.message)
}

const messages =
  /^(Connection terminated|Client (was closed|has encountered)|Query read timeout|timeout (exceeded|expired)|There was an error establishing an SSL)/

/** An attempt failed without changes and may be repeated. */
export class RetryableFault extends Error {
  constructor(cause: unknown) {
    super('The database did not answer.', { cause })
    this.name = 'RetryableFault'
  }
}

export function storeUnavailable(cause: unknown): ServiceError {
  return new ServiceError('store_unavailable', 'The database cannot be reached at the moment.', { cause })
}

const firstDelayMs = 50
const maxDelayMs = 1000

/**
 * Repeats `attempt` while it rejects with `RetryableFault`. After `retryForMs` milliseconds rejects with `store_unavailable`; a function may
 * shorten the time meanwhile.
 */
export async function withRetries<T>(retryForMs: number | (() => number), attempt: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  const limitMs = typeof retryForMs === 'number' ? () => retryForMs : retryForMs
  for (let delayMs = firstDelayMs; ; delayMs = Math.min(delayMs * 2, maxDelayMs)) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof RetryableFault)) throw error
      // Jitter, so that processes do not retry at the same time.
      const waitMs = delayMs * (0.5 + Math.random() / 2)
      if (performance.now() + waitMs > startedAt + limitMs()) {
        reachState('store-away')
        throw storeUnavailable(error.cause)
      }
      reachState('unit-retried')
      await sleep(waitMs)
    }
  }
}
