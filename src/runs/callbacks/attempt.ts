import type { CallbackAttempt, CallbackVerdict } from './callback-store.ts'

/** One attempt to send a message to a receiver: a callback, or a push notification. */

/** Port: sends a callback once and resolves with the receiver's answer. Throws `CallbackNotSent` when no response arrived. */
export type SendCallback = (callback: OutgoingCallback, signal: AbortSignal) => Promise<CallbackAnswer>

export interface CallbackAnswer {
  /** HTTP status. */
  status: number
  /** The start of the body; see `toBodyExcerpt`. */
  body: string
}

export interface OutgoingCallback {
  tenant: string
  /** May contain a user and a password. */
  url: string
  /** CloudEvents id: equal in every attempt, so that the receiver can drop duplicates. */
  id: string
  body: string
  /** Default: that of a CloudEvent. */
  contentType?: string
  /** Further headers, with lower-case names. They replace the user and password of the URL. */
  headers?: Record<string, string>
}

/** No response arrived. The message is shown to the run's caller. */
export class CallbackNotSent extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CallbackNotSent'
  }
}

export interface AttemptDependencies {
  send: SendCallback
  /** Delays between attempts, in milliseconds. After the last delay there is one more attempt. */
  retryMs: readonly number[]
  now(): number
  /** A random number from 0 to 1. */
  random(): number
}

/** Sends a callback once. A receiver that cannot be reached makes a failed attempt. */
export async function attemptToSend(
  { send, now }: AttemptDependencies,
  callback: OutgoingCallback,
  signal: AbortSignal,
): Promise<CallbackAttempt> {
  const at = now()
  try {
    const { status, body } = await send(callback, signal)
    const isRedirect = status >= 300 && status < 400
    return { at, status, ...(isRedirect ? { error: 'Redirects are not followed.' } : {}), ...(body === '' ? {} : { responseBody: body }) }
  } catch (error) {
    if (error instanceof CallbackNotSent) return { at, status: null, error: error.message }
    throw error
  }
}

/** Largest random share added to a delay, so that retries do not reach a receiver all at once. */
const jitter = 0.25

/** The state of a callback after an attempt. `tries`: the attempts of the round before this one. */
export function verdictAfter({ retryMs, now, random }: AttemptDependencies, { status }: CallbackAttempt, tries: number): CallbackVerdict {
  if (status !== null && status >= 200 && status < 300) return { status: 'delivered' }
  if (status === 410) return { status: 'gone' }
  const delayMs = retryMs[tries]
  if (delayMs === undefined) return { status: 'failed' }
  return { status: 'pending', nextAt: Math.round(now() + delayMs * (1 + jitter * random())) }
}
