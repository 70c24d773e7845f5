import { ServiceError } from '../errors.ts'
import type { Owner } from './owner.ts'

/** `access.rate_limits` of the agent configuration, for one role; absent: none. */
export interface RateLimit {
  requests_per_minute?: number
  concurrent_runs?: number
}

export type RateLimits = Readonly<Record<string, RateLimit>>

/** Whose requests are counted, and which limits hold for them. */
export interface Caller extends Owner {
  roles?: readonly string[]
}

/** The most generous of a caller's roles; a role without an entry has that of `default`. Undefined: no limit. */
export function limitOf(limits: RateLimits, { roles }: Caller, what: keyof RateLimit): number | undefined {
  let most: number | undefined
  for (const role of roles && roles.length > 0 ? roles : ['default']) {
    const limit = (entryOf(limits, role) ?? entryOf(limits, 'default'))?.[what]
    if (limit === undefined) return undefined
    most = Math.max(most ?? 0, limit)
  }
  return most
}

/** `hasOwn`: a role called `constructor` must not find what every object inherits. */
function entryOf(limits: RateLimits, role: string): RateLimit | undefined {
  return Object.hasOwn(limits, role) ? limits[role] : undefined
}

export interface RequestLimitOptions {
  /** As they are now. */
  limits(): RateLimits
  /** Milliseconds, of a clock that never goes back. */
  now(): number
}

/** Counts the requests of each caller over a sliding minute. */
export interface RequestLimits {
  /** Counts a request, or says why it is refused; a refused one is not counted. */
  take(caller: Caller): ServiceError | undefined
}

const minuteMs = 60_000
/** More callers in one minute than this are not told apart for ever: the one that came first is forgotten. */
const maxCallers = 100_000

/** In this process alone: what a caller asks of another replica is counted there. */
export function createRequestLimits({ limits, now }: RequestLimitOptions): RequestLimits {
  const callers = new Map<string, Window>()
  let sweptAt = now()

  /** Who has been silent for a minute is as one who never came. */
  function sweep(at: number): void {
    if (at - sweptAt < minuteMs) return
    sweptAt = at
    for (const [name, window] of callers) if (window.isEmpty(at)) callers.delete(name)
  }

  function windowOf({ tenant, owner }: Caller): Window {
    const name = `${tenant}\n${owner}`
    const known = callers.get(name)
    if (known) return known
    const first = callers.size >= maxCallers ? callers.keys().next().value : undefined
    if (first !== undefined) callers.delete(first)
    const window = new Window()
    callers.set(name, window)
    return window
  }

  return {
    take(caller) {
      const limit = limitOf(limits(), caller, 'requests_per_minute')
      if (limit === undefined) return undefined
      const at = now()
      sweep(at)
      const waitMs = windowOf(caller).take(at, limit)
      if (waitMs === 0) return undefined
      return new ServiceError('rate_limited', `More than ${limit} requests in a minute.`, { retryAfter: Math.ceil(waitMs / 1000) })
    },
  }
}

/** The times of what was taken in the last minute: never more than the limit. */
class Window {
  private times: number[] = []
  /** Those before it have left the window. */
  private head = 0

  /** Takes a place, or answers with the milliseconds until one is free. */
  take(at: number, limit: number): number {
    this.leave(at)
    const taken = this.times.length - this.head
    if (taken < limit) {
      this.times.push(at)
      return 0
    }
    return this.times[this.head + taken - limit]! + minuteMs - at
  }

  isEmpty(at: number): boolean {
    this.leave(at)
    return this.head === this.times.length
  }

  private leave(at: number): void {
    while (this.head < this.times.length && this.times[this.head]! <= at - minuteMs) this.head++
    // Rarely, and half of it at least: each time is moved once.
    if (this.head * 2 < this.times.length) return
    this.times = this.times.slice(this.head)
    this.head = 0
  }
}
