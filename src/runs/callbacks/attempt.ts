import type { NewJob } from '../jobs.ts'
import type { RunKey } from '../run.ts'

/** `gone`: the receiver answered 410 and wants no further attempts. */
export type CallbackStatus = 'pending' | 'delivered' | 'failed' | 'gone'

export interface CallbackAttempt {
  /** Epoch milliseconds. */
  at: number
  /** HTTP status; null where no response arrived. */
  status: number | null
  error?: string
  /** Number of the reported interruption of the run, from 1; absent for a report of the end. */
  interruption?: number
  /** The start of what was sent, as safe text; absent where the run has it. */
  requestBody?: string
  /** The start of the receiver's answer, as safe text; absent for older attempts of a callback with many. */
  responseBody?: string
}

/** The state of a callback after an attempt. */
export interface CallbackVerdict {
  status: CallbackStatus
  /** Epoch milliseconds of the next attempt; absent after the last. */
  nextAt?: number
}

export interface StoredCallback {
  eventId: string
  url: string
  status: CallbackStatus
  attempts: CallbackAttempt[]
  /** Number of manual resends. A job of an earlier round does nothing. */
  round: number
  /** Attempts in this round. */
  tries: number
}

/** Port: storage of callbacks. A callback is stored in the transaction that stores its run. */
export interface CallbackStore {
  find(key: RunKey): Promise<StoredCallback | undefined>
  /** Stores an attempt and the callback's new status. A delivered callback stays delivered. */
  record(key: RunKey, round: number, attempt: CallbackAttempt, verdict: CallbackVerdict): Promise<void>
  /** Adds an attempt to report an interruption. The status is that of the report of the end, and does not change. */
  note(key: RunKey, attempt: CallbackAttempt): Promise<void>
  /** Starts a new round with the job returned by `toJob`; false when the callback was already delivered. */
  restart(key: RunKey, toJob: (round: number) => NewJob): Promise<boolean>
}

/** Messages to receivers (callbacks and push notifications): one attempt, the limit of concurrent attempts for each host, and what is kept of bodies. */

/** Port: sends a callback once and resolves with the receiver's answer. Throws `CallbackNotSent` when no response arrived. */
export type SendCallback = (callback: OutgoingCallback, signal: AbortSignal) => Promise<CallbackAnswer>

interface CallbackAnswer {
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

/** Limits concurrent callbacks per receiving host, so that a dead host cannot delay callbacks to other hosts. */
export interface Receivers {
  /** Claims a slot of the URL's host. Returns the function that releases the slot, or, when none is free, the milliseconds to wait. */
  enter(url: string): (() => void) | number
}

interface ReceiverLimits {
  initial: number
  min: number
  max: number
  /** Milliseconds. An attempt that takes at least this long counts as slow. */
  slowMs: number
}

/** `initial` applies to an unknown host. `min` stays above 0 so that the callbacks of a dead host still run out of attempts. */
const defaults: ReceiverLimits = { initial: 16, min: 4, max: 1024, slowMs: 3000 }

/** Delay for slow hosts, longer because many callbacks may wait for a slow host and each retry costs a job. */
const slowAgainMs = 15_000

const quickAgainMs = 1000

/** Hosts that are remembered. A forgotten host starts again with the initial limit. */
const maxHosts = 1000

interface Receiver {
  limit: number
  busy: number
}

/** `now` in milliseconds. The limit of a host doubles with each quick attempt and halves with each slow attempt. */
export function createReceivers(now: () => number, { initial, min, max, slowMs }: ReceiverLimits = defaults): Receivers {
  /** By host, least recently used first. */
  const receivers = new Map<string, Receiver>()

  function use(host: string): Receiver {
    const receiver = receivers.get(host) ?? { limit: initial, busy: 0 }
    receivers.delete(host)
    receivers.set(host, receiver)
    for (const [oldest, { busy }] of receivers) {
      if (receivers.size <= maxHosts) break
      if (busy === 0 && oldest !== host) receivers.delete(oldest)
    }
    return receiver
  }

  return {
    enter(url) {
      const receiver = use(new URL(url).host)
      if (receiver.busy >= receiver.limit) return receiver.limit < initial ? slowAgainMs : quickAgainMs
      receiver.busy++
      const startedAt = now()
      return () => {
        receiver.busy--
        const isSlow = now() - startedAt >= slowMs
        receiver.limit = isSlow ? Math.max(min, receiver.limit >> 1) : Math.min(max, receiver.limit * 2)
      }
    },
  }
}

/** Bytes of a body that are kept and shown. */
export const maxExcerptBytes = 4096

/** Control characters but tabs and line breaks, and characters that turn the direction of a text. */
const unsafe = /[^\P{Cc}\n\r\t]|\p{Bidi_Control}/gu

/** The start of a body as text: at most 4 KiB of UTF-8, without half a character at the end; unsafe characters become U+FFFD. */
export function toBodyExcerpt(body: Uint8Array): string {
  const start = body.subarray(0, maxExcerptBytes)
  return new TextDecoder().decode(start, { stream: start.length === maxExcerptBytes }).replace(unsafe, '\uFFFD')
}
