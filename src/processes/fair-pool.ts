import { callerKey, type Owner } from '../access/owner.ts'

export interface PoolRequest {
  caller: Owner
  signal?: AbortSignal | undefined
}

/** A bounded number of slots. One caller holds at most half of the slots, and waiting callers take turns. */
export interface FairPool {
  /** Waits for a slot and runs `work` in the slot. Rejects with the signal's reason, or with `PoolBusy`, if the wait ends without a slot. */
  use<T>(request: PoolRequest, work: () => Promise<T>): Promise<T>
}

export interface FairPoolOptions {
  slots: number
  /** Maximum number of waiting calls per caller. */
  maxWaiting?: number
  /** Limit in milliseconds for every wait, with or without a signal. */
  maxWaitMs?: number
}

/** The service as a caller, for reads on behalf of all callers: at start, or when files change. No tenant has an empty name. */
export const serviceItself: Owner = { tenant: '', owner: 'agent-core' }

/** Limit of a wait in milliseconds, where callers have no better limit. */
export const usualWaitMs = 60_000

/** A call cannot wait, or has waited too long. The message is shown to a model. */
export class PoolBusy extends Error {
  override readonly name = 'PoolBusy'
}

export function createFairPool({ slots, maxWaiting, maxWaitMs = usualWaitMs }: FairPoolOptions): FairPool {
  const waiting = new FairQueue<PoolRequest, void>(maxWaiting)
  const leases = new Leases(slots)

  function advance(): void {
    for (const call of waiting) {
      if (leases.size === slots) return
      if (leases.isAtShare(call.request.caller)) continue
      leases.add(call.request.caller)
      waiting.grant(call, undefined)
    }
  }

  return {
    async use(request, work) {
      const granted = waiting.wait(request, { maxWaitMs })
      advance()
      await granted
      try {
        return await work()
      } finally {
        leases.remove(request.caller)
        advance()
      }
    },
  }
}

/** Maximum number of slots per caller: half of the pool, so that another caller finds a free slot, but at least 1. */
export function shareOf(slots: number): number {
  return Math.max(1, Math.floor(slots / 2))
}

/** The slots in use, by caller. */
export class Leases {
  private readonly share: number
  private readonly counts = new Map<string, number>()
  size = 0

  constructor(slots: number) {
    this.share = shareOf(slots)
  }

  /** True if the caller may not have another slot. `claimed` slots are about to be used by the caller. */
  isAtShare(caller: Owner, claimed = 0): boolean {
    return (this.counts.get(callerKey(caller)) ?? 0) + claimed >= this.share
  }

  add(caller: Owner): void {
    this.change(caller, 1)
  }

  remove(caller: Owner): void {
    this.change(caller, -1)
  }

  private change(caller: Owner, by: 1 | -1): void {
    const key = callerKey(caller)
    const count = (this.counts.get(key) ?? 0) + by
    if (count > 0) this.counts.set(key, count)
    else this.counts.delete(key)
    this.size += by
  }
}

/** A call that waits for a slot. */
export interface Waiting<R, G> {
  readonly request: R
  /** `performance.now()` when the wait began. */
  readonly since: number
  resolve(grant: G): void
  reject(error: unknown): void
}

interface WaitOptions {
  /** Default: no limit. */
  maxWaitMs?: number | undefined
  /** The error of a wait that has reached its limit. */
  timeoutError?(): Error
}

/** Each waiting call keeps input in memory, and a call behind 200 calls of the same caller would wait longer than the timeout. */
const maxWaitingPerCaller = 200

/** Waiting calls of a pool, in serving order: callers take turns (round robin), and the calls of one caller stay in order. */
export class FairQueue<R extends PoolRequest, G> {
  /** Least recently served caller first. */
  private readonly callers = new Map<string, Set<Waiting<R, G>>>()
  private readonly maxPerCaller: number

  constructor(maxPerCaller = maxWaitingPerCaller) {
    this.maxPerCaller = maxPerCaller
  }

  /** Resolves to the grant. Rejects with the signal's reason, with the error of the limit, or with `PoolBusy` if too many calls of the caller wait. */
  wait(request: R, { maxWaitMs, timeoutError = () => busyFor(maxWaitMs) }: WaitOptions = {}): Promise<G> {
    const { signal } = request
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      // The call leaves the queue in the same turn in which the wait ends: no slot may be granted to a caller that is gone.
      const leaving =
        <T>(settle: (value: T) => void) =>
        (value: T) => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', abort)
          this.remove(call)
          settle(value)
        }
      const call = { request, since: performance.now(), resolve: leaving(resolve), reject: leaving(reject) }
      const abort = () => call.reject(signal?.reason)
      this.add(call)
      const timer = maxWaitMs === undefined ? undefined : setTimeout(() => call.reject(timeoutError()), maxWaitMs)
      signal?.addEventListener('abort', abort, { once: true })
    })
  }

  /** Ends the wait of a call. The caller moves to the end of the queue. */
  grant(call: Waiting<R, G>, grant: G): void {
    call.resolve(grant)
    const key = callerKey(call.request.caller)
    const rest = this.callers.get(key)
    if (!rest) return
    this.callers.delete(key)
    this.callers.set(key, rest)
  }

  rejectAll(error: Error): void {
    for (const call of [...this]) call.reject(error)
  }

  /** The first call of each caller, then the second of each, and so on. Calls may be removed during the iteration. */
  *[Symbol.iterator](): Generator<Waiting<R, G>, void> {
    let callers = [...this.callers.values()].map((calls) => calls.values())
    while (callers.length > 0) {
      const next: typeof callers = []
      for (const calls of callers) {
        const { value, done } = calls.next()
        if (done) continue
        next.push(calls)
        yield value
      }
      callers = next
    }
  }

  private add(call: Waiting<R, G>): void {
    const key = callerKey(call.request.caller)
    const calls = this.callers.get(key) ?? new Set()
    if (calls.size >= this.maxPerCaller) {
      throw new PoolBusy(`${this.maxPerCaller} of your calls are already waiting. Try again when some of them have ended.`)
    }
    this.callers.set(key, calls.add(call))
  }

  private remove(call: Waiting<R, G>): void {
    const key = callerKey(call.request.caller)
    const calls = this.callers.get(key)
    calls?.delete(call)
    if (calls?.size === 0) this.callers.delete(key)
  }
}

function busyFor(ms = 0): Error {
  return new PoolBusy(`No slot became free within ${ms / 1000} s because other calls use all of them. Try again later.`)
}
