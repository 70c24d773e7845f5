import { ServiceError } from '../errors.ts'

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
