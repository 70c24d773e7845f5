import { ServiceError } from '../errors.ts'
import { createCallerIds, type CallerIds } from './caller-ids.ts'
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
  idOf?: CallerIds
  /** Whether what is taken is kept to be told to other processes. */
  isShared?: boolean
  /** As they are now. */
  limits(): RateLimits
  /** Milliseconds, of a clock that never goes back. */
  now(): number
}

/** Counts the requests of each caller over a sliding minute. */
export interface RequestLimits {
  /** Counts a request, or says why it is refused; a refused one is not counted. */
  take(caller: Caller): ServiceError | undefined
  /** Counts what a caller asked of another process just now. */
  add(id: string, count: number): void
  /** What was taken since it was asked for last, of so many callers at most. */
  drainUnpublished(most: number): [id: string, count: number][]
}

const minuteMs = 60_000
/** More callers in one minute than this are not told apart for ever: the one that came first is forgotten. */
const maxCallers = 100_000

/** Counts in this process, and what others tell of theirs. */
export function createRequestLimits(options: RequestLimitOptions): RequestLimits {
  const { limits, now, idOf = createCallerIds(), isShared = false } = options
  const callers = new Map<string, Window>()
  const untold = new Map<string, number>()
  let sweptAt = now()

  /** Who has been silent for a minute is as one who never came. */
  function sweep(at: number): void {
    if (at - sweptAt < minuteMs) return
    sweptAt = at
    for (const [id, window] of callers) if (window.isEmpty(at)) callers.delete(id)
  }

  function windowOf(id: string): Window {
    const known = callers.get(id)
    if (known) return known
    const first = callers.size >= maxCallers ? callers.keys().next().value : undefined
    if (first !== undefined) callers.delete(first)
    const window = new Window()
    callers.set(id, window)
    return window
  }

  return {
    take(caller) {
      const limit = limitOf(limits(), caller, 'requests_per_minute')
      if (limit === undefined) return undefined
      const at = now()
      sweep(at)
      const id = idOf(caller)
      const waitMs = windowOf(id).take(at, limit)
      if (waitMs === 0) {
        if (isShared) untold.set(id, (untold.get(id) ?? 0) + 1)
        return undefined
      }
      return new ServiceError('rate_limited', `More than ${limit} requests in a minute.`, { retryAfter: Math.ceil(waitMs / 1000) })
    },
    add(id, count) {
      const at = now()
      sweep(at)
      windowOf(id).add(at, Math.min(count, maxAdded))
    },
    drainUnpublished(most) {
      const some = untold.entries().take(most).toArray()
      for (const [id] of some) untold.delete(id)
      return some
    },
  }
}

/** More than this within a second no process takes of one caller. */
const maxAdded = 100_000

/** The times of what was taken in the last minute: never more than the limit of each process. */
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

  add(at: number, count: number): void {
    this.leave(at)
    for (let n = 0; n < count; n++) this.times.push(at)
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
