import { AgentCoreError, BudgetExceededError } from './error.ts'

/** A failed attempt that is about to be repeated. */
export interface Retry {
  error: AgentCoreError
  /** Failed attempts in a row, from 1. */
  attempt: number
  /** Milliseconds until the next attempt. */
  delayMs: number
}

export interface RetryOptions {
  /** Number of attempts after the first; default 8, which takes about 20 s. 0: no retries. */
  retries?: number | undefined
  /** Milliseconds before the second attempt, doubled for each further attempt; default 100. */
  retryDelayMs?: number | undefined
  /** Called before each repetition. `false` gives up: the error is thrown. */
  onRetry?: ((retry: Retry) => boolean | void) | undefined
}

/** Completes the options of a call with the options of the client. */
export function withDefaults<T extends RetryOptions>(options: T, defaults: RetryOptions): T {
  const { retries, retryDelayMs, onRetry } = defaults
  return {
    ...options,
    retries: options.retries ?? retries,
    retryDelayMs: options.retryDelayMs ?? retryDelayMs,
    onRetry: options.onRetry ?? onRetry,
  }
}

const maxDelayMs = 5000
/** A service that asks for a longer pause gets no further attempt. */
const maxRetryAfterSeconds = 60

/** Counts failed attempts, and waits before the next attempt. */
export interface Attempts {
  /** Resolves when the next attempt is due. Throws `error` if no further attempt is allowed. */
  waitAfter(error: unknown): Promise<void>
  /** Resets the count after progress. */
  succeed(): void
}

export function createAttempts({ retries = 8, retryDelayMs = 100, onRetry }: RetryOptions, signal: AbortSignal | undefined): Attempts {
  let failures = 0
  return {
    async waitAfter(error) {
      signal?.throwIfAborted()
      if (!(error instanceof AgentCoreError) || !isTransient(error) || failures >= retries) throw error
      const delayMs = toDelay(error, retryDelayMs * 2 ** failures)
      failures += 1
      if (onRetry?.({ error, attempt: failures, delayMs }) === false) throw error
      signal?.throwIfAborted()
      await pause(delayMs, signal)
    },
    succeed() {
      failures = 0
    },
  }
}

/**
 * True if the same request may succeed soon: the network failed, the service is busy, or a gateway found no service. The service's
 * own 502 means that no model could answer, and a budget that is used up is no load that passes.
 */
function isTransient(error: AgentCoreError): boolean {
  const { status, errorType, retryAfter = 0, details } = error
  // A budget does not recover within the pauses of a few attempts.
  if (error instanceof BudgetExceededError) return false
  if (status === 0) return errorType === 'NetworkError'
  if (status === 429 || status === 503) return errorType !== 'BudgetExceeded' && retryAfter <= maxRetryAfterSeconds
  return (status === 502 || status === 504) && details.error_type === undefined
}

/** Half of the delay is random, so that clients of a restarted service do not come back at once. */
function toDelay({ retryAfter }: AgentCoreError, delayMs: number): number {
  const jittered = Math.min(delayMs, maxDelayMs) * (0.5 + Math.random() / 2)
  return Math.max(jittered, (retryAfter ?? 0) * 1000)
}

/** Resolves after a time. Rejects with the reason of an aborted signal. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}

/** Sends a request again after failures that may pass. */
export async function repeat<T>(send: () => Promise<T>, options: RetryOptions, signal: AbortSignal | undefined): Promise<T> {
  const attempts = createAttempts(options, signal)
  for (;;) {
    try {
      return await send()
    } catch (error) {
      await attempts.waitAfter(error)
    }
  }
}
