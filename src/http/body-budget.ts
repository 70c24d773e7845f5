import { getHeapStatistics } from 'node:v8'
import { ServiceError } from '../errors.ts'

export interface BodyBudgetOptions {
  /** Bytes of one body. */
  bodyLimit: number
  /** Bytes of all bodies in memory at a time; half of it for one caller. */
  budgetBytes?: number
  /** Bodies of one caller that may be arriving at a time. */
  maxArriving?: number
}

/** A gateway with one key sends hundreds at a time; each of them holds a connection. */
const maxArriving = 1000
const retryAfter = 2

interface CallerBodies {
  bytes: number
  arriving: number
}

/** What one request takes of the room. */
export interface BodyReservation {
  /** Takes more bytes, or refuses with `overloaded`. One body alone always fits. */
  take(bytes: number): ServiceError | undefined
  /** Nothing more comes. */
  complete(): void
  /** Gives back what was taken. */
  release(): void
}

export interface BodyBudget {
  /** `caller`: whose body it is. Refuses with `overloaded` where too many of the caller's bodies are arriving. */
  reserve(caller: string): BodyReservation | ServiceError
}

/**
 * Bounds the memory of request bodies from their first byte until they are used, for each caller and for all of them. Each body may be
 * large, a caller may send many at a time, slowly, and load shedding does not see what stands outside of the heap.
 */
export function createBodyBudget(options: BodyBudgetOptions): BodyBudget {
  const { budgetBytes = roomFor(options.bodyLimit) } = options
  const callers = new Map<string, CallerBodies>()
  let all = 0

  function reserve(caller: string): BodyReservation | ServiceError {
    const bodies = callers.get(caller) ?? { bytes: 0, arriving: 0 }
    if (bodies.arriving >= (options.maxArriving ?? maxArriving)) return refusal('Too many of your requests are still sending their bodies.')
    callers.set(caller, bodies)
    bodies.arriving++
    let own = 0
    let isArriving = true

    function forget(): void {
      if (bodies.bytes === 0 && bodies.arriving === 0) callers.delete(caller)
    }

    function complete(): void {
      if (!isArriving) return
      isArriving = false
      bodies.arriving--
    }

    return {
      take(bytes) {
        if (bodies.bytes > own && bodies.bytes + bytes > budgetBytes / 2) return tooMuch('your requests')
        if (all > own && all + bytes > budgetBytes) return tooMuch('requests')
        own += bytes
        bodies.bytes += bytes
        all += bytes
        return undefined
      },
      complete,
      release() {
        complete()
        bodies.bytes -= own
        all -= own
        own = 0
        forget()
      },
    }
  }

  return { reserve }
}

/** Eight bodies at best, two at least. */
function roomFor(bodyLimit: number): number {
  return Math.max(2 * bodyLimit, Math.min(8 * bodyLimit, getHeapStatistics().heap_size_limit / 4))
}

function tooMuch(owner: string): ServiceError {
  return refusal(`The bodies of ${owner} take too much memory at the moment.`)
}

function refusal(message: string): ServiceError {
  return new ServiceError('overloaded', message, { retryAfter })
}
