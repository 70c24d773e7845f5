import { getHeapStatistics } from 'node:v8'
import { ServiceError } from '../../errors.ts'

export interface BodyBudgetOptions {
  /** Largest body in bytes. */
  bodyLimit: number
  /** Bytes of all bodies in memory at a time. A caller may hold half of the budget. */
  budgetBytes?: number
  /** Bodies of one caller that may be arriving at a time. */
  maxArriving?: number
}

/** Default of `maxArriving`. A gateway with one key sends hundreds of requests at a time. */
const defaultMaxArriving = 1000
/** Seconds. */
const retryAfter = 2

interface CallerBodies {
  bytes: number
  arriving: number
}

/** The share of one request in the budget. */
export interface BodyReservation {
  /** Reserves more bytes, or returns `overloaded`. A single body always fits. */
  take(bytes: number): ServiceError | undefined
  /** Marks the body as complete. */
  complete(): void
  /** Returns all reserved bytes to the budget. */
  release(): void
}

export interface BodyBudget {
  /** Opens a reservation for a body of `caller`. Returns `overloaded` when too many bodies of the caller are arriving. */
  reserve(caller: string): BodyReservation | ServiceError
}

/**
 * Bounds the memory of request bodies from their first byte until the request has used them, for each caller and in total. Load shedding does not
 * see buffers outside of the heap, so many large, slow bodies would exhaust the memory unnoticed.
 */
export function createBodyBudget(options: BodyBudgetOptions): BodyBudget {
  const { budgetBytes = defaultBudget(options.bodyLimit) } = options
  const callers = new Map<string, CallerBodies>()
  let totalBytes = 0

  function reserve(caller: string): BodyReservation | ServiceError {
    const bodies = callers.get(caller) ?? { bytes: 0, arriving: 0 }
    if (bodies.arriving >= (options.maxArriving ?? defaultMaxArriving))
      return overloaded('Too many of your requests are still sending their bodies.')
    callers.set(caller, bodies)
    bodies.arriving++
    let reservedBytes = 0
    let isArriving = true

    function complete(): void {
      if (!isArriving) return
      isArriving = false
      bodies.arriving--
    }

    return {
      take(bytes) {
        if (bodies.bytes > reservedBytes && bodies.bytes + bytes > budgetBytes / 2) return tooMuchMemory('your requests')
        if (totalBytes > reservedBytes && totalBytes + bytes > budgetBytes) return tooMuchMemory('all requests')
        reservedBytes += bytes
        bodies.bytes += bytes
        totalBytes += bytes
        return undefined
      },
      complete,
      release() {
        complete()
        bodies.bytes -= reservedBytes
        totalBytes -= reservedBytes
        reservedBytes = 0
        if (bodies.bytes === 0 && bodies.arriving === 0) callers.delete(caller)
      },
    }
  }

  return { reserve }
}

/** The size of eight bodies, limited to a quarter of the heap, and at least the size of two bodies. */
function defaultBudget(bodyLimit: number): number {
  return Math.max(2 * bodyLimit, Math.min(8 * bodyLimit, getHeapStatistics().heap_size_limit / 4))
}

function tooMuchMemory(requests: string): ServiceError {
  return overloaded(`The bodies of ${requests} together take too much memory: try again later.`)
}

function overloaded(message: string): ServiceError {
  return new ServiceError('overloaded', message, { retryAfter })
}

export interface BodyPaceOptions {
  /** Milliseconds without a byte after which a body is refused. Default: 30,000. */
  stalledMs?: number
}

/** Minimum average rate in bytes per second, enforced once a body has taken longer than two stall times. */
const minBytesPerSecond = 4096

/** A body that is still arriving. */
export interface ArrivingBody {
  /** Bytes so far. */
  bytes: number
  /** Ticks at the start and at the last byte. */
  startTick: number
  lastTick: number
  refuse(error: ServiceError): void
}

export interface BodyPace {
  start(refuse: ArrivingBody['refuse']): ArrivingBody
  progress(body: ArrivingBody, bytes: number): void
  stop(body: ArrivingBody): void
}

/**
 * Refuses bodies that stall or arrive too slowly. One timer checks all bodies: most bodies are complete before its first tick and need no timer of
 * their own. Time is counted in ticks, so a body is not blamed for a pause of the process itself.
 */
export function createBodyPace({ stalledMs = 30_000 }: BodyPaceOptions = {}): BodyPace {
  const tickMs = stalledMs / stallTicks
  const arriving = new Set<ArrivingBody>()
  let timer: NodeJS.Timeout | undefined
  let tick = 0

  function checkAll(): void {
    tick++
    for (const body of arriving) {
      const isStalled = tick - body.lastTick > stallTicks
      const seconds = ((tick - body.startTick - 2 * stallTicks) * tickMs) / 1000
      if (isStalled) body.refuse(timeoutError(`No byte of the body arrived for ${stalledMs / 1000} s.`))
      else if (seconds * minBytesPerSecond > body.bytes) body.refuse(timeoutError('The body arrives too slowly.'))
    }
    if (arriving.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    start(refuse) {
      const body = { bytes: 0, startTick: tick, lastTick: tick, refuse }
      arriving.add(body)
      timer ??= setInterval(checkAll, tickMs).unref()
      return body
    },
    progress(body, bytes) {
      body.bytes += bytes
      body.lastTick = tick
    },
    stop: (body) => void arriving.delete(body),
  }
}

/** Ticks of the timer in one stall time. */
const stallTicks = 30

function timeoutError(message: string): ServiceError {
  return new ServiceError('request_timeout', message)
}
