import { ServiceError } from '../errors.ts'
import { type Owner, callerKey } from './owner.ts'
import { hash } from 'node:crypto'

/** `access.rate_limits` of the agent configuration for one role; absent: no limits. */
export interface RateLimit {
  requests_per_minute?: number
  concurrent_runs?: number
}

export type RateLimits = Readonly<Record<string, RateLimit>>

/** The caller whose requests are counted; the roles select the limits. */
export interface Caller extends Owner {
  roles?: readonly string[]
}

/**
 * The most generous limit of a caller's roles; a role without an entry has the limit of `default`. Undefined: no limit.
 */
export function limitOf(limits: RateLimits, { roles }: Caller, kind: keyof RateLimit): number | undefined {
  let highest: number | undefined
  for (const role of roles && roles.length > 0 ? roles : ['default']) {
    const limit = (entryOf(limits, role) ?? entryOf(limits, 'default'))?.[kind]
    if (limit === undefined) return undefined
    highest = Math.max(highest ?? 0, limit)
  }
  return highest
}

/** `hasOwn`: a role called `constructor` must not find what every object inherits. */
function entryOf(limits: RateLimits, role: string): RateLimit | undefined {
  return Object.hasOwn(limits, role) ? limits[role] : undefined
}

export interface RequestLimitOptions {
  idOf?: CallerIds
  /** True to collect counted requests for other processes. */
  isShared?: boolean
  /** The current limits. */
  limits(): RateLimits
  /** Milliseconds of a monotonic clock. */
  now(): number
}

/** Counts the requests of each caller over a sliding minute. */
export interface RequestLimits {
  /** The current limits. Without any, `take` need not be called. */
  limits(): RateLimits
  /** Counts a request, or returns the error when the limit is reached; refused requests are not counted. */
  take(caller: Caller): ServiceError | undefined
  /** Adds requests that another process has counted. */
  add(id: string, count: number): void
  /** Returns and removes requests that were not published yet, of at most `maxCallers` callers. */
  drainUnpublished(maxCallers: number): [id: string, count: number][]
}

const minuteMs = 60_000
/** Number of callers counted separately; beyond the limit the oldest caller is forgotten. */
const maxCallers = 100_000

/** Counts requests of the current process, and of other processes through `add`. */
export function createRequestLimits(options: RequestLimitOptions): RequestLimits {
  const { limits, now, idOf = createCallerIds(), isShared = false } = options
  const callers = new Map<string, Window>()
  const unpublished = new Map<string, number>()
  let sweptAt = now()

  /** Removes callers without a request in the last minute. */
  function sweep(at: number): void {
    if (at - sweptAt < minuteMs) return
    sweptAt = at
    for (const [id, window] of callers) if (window.isEmpty(at)) callers.delete(id)
  }

  function windowOf(id: string): Window {
    const existing = callers.get(id)
    if (existing) return existing
    const first = callers.size >= maxCallers ? callers.keys().next().value : undefined
    if (first !== undefined) callers.delete(first)
    const window = new Window()
    callers.set(id, window)
    return window
  }

  return {
    limits,
    take(caller) {
      const limit = limitOf(limits(), caller, 'requests_per_minute')
      if (limit === undefined) return undefined
      const at = now()
      sweep(at)
      const id = idOf(caller)
      const waitMs = windowOf(id).take(at, limit)
      if (waitMs === 0) {
        if (isShared) unpublished.set(id, (unpublished.get(id) ?? 0) + 1)
        return undefined
      }
      return new ServiceError('rate_limited', `More than ${limit} requests in a minute.`, { retryAfter: Math.ceil(waitMs / 1000) })
    },
    add(id, count) {
      const at = now()
      sweep(at)
      windowOf(id).add(at, Math.min(count, maxAdded))
    },
    drainUnpublished(limit) {
      const batch = unpublished.entries().take(limit).toArray()
      for (const [id] of batch) unpublished.delete(id)
      return batch
    },
  }
}

/** Upper bound for the requests of a caller within a second. */
const maxAdded = 100_000

/** The times of requests in the last minute: never more than the limit of each process. */
class Window {
  private times: number[] = []
  /** Index of the first time inside the window. */
  private head = 0

  /** Counts a request, or returns the milliseconds until one is allowed. */
  take(at: number, limit: number): number {
    this.expire(at)
    const count = this.times.length - this.head
    if (count < limit) {
      this.times.push(at)
      return 0
    }
    return this.times[this.head + count - limit]! + minuteMs - at
  }

  add(at: number, count: number): void {
    this.expire(at)
    for (let n = 0; n < count; n++) this.times.push(at)
  }

  isEmpty(at: number): boolean {
    this.expire(at)
    return this.head === this.times.length
  }

  private expire(at: number): void {
    while (this.head < this.times.length && this.times[this.head]! <= at - minuteMs) this.head++
    // Compact rarely, and only when half of the list has expired, so that each time moves once.
    if (this.head * 2 < this.times.length) return
    this.times = this.times.slice(this.head)
    this.head = 0
  }
}

/** Short ids of callers for messages between processes, in place of the callers' names. */
export type CallerIds = (caller: Owner) => string

/**
 * The id of a caller is the same in every process. Ids are cached by object, so repeated calls with the same object are
 * free.
 */
export function createCallerIds(): CallerIds {
  const idsByCaller = new WeakMap<Owner, string>()
  return (caller) => {
    let id = idsByCaller.get(caller)
    // 72 bits make a collision among millions of callers very unlikely.
    if (id === undefined) idsByCaller.set(caller, (id = hash('sha256', callerKey(caller), 'base64url').slice(0, 12)))
    return id
  }
}
