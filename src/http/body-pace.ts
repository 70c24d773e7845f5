import { ServiceError } from '../errors.ts'

export interface BodyPaceOptions {
  /** Nothing of a body for so long: the body is given up. */
  stalledMs?: number
}

/** Bytes a second that a body must come with on average, once it has had twice the time of a stall. */
const slowestRate = 4096

/** A body that is arriving. */
export interface ArrivingBody {
  /** Bytes so far. */
  bytes: number
  /** Turns of the watch at the first and at the last byte. */
  startedAt: number
  lastAt: number
  giveUp(error: ServiceError): void
}

export interface BodyPace {
  start(giveUp: ArrivingBody['giveUp']): ArrivingBody
  progress(body: ArrivingBody, bytes: number): void
  stop(body: ArrivingBody): void
}

/**
 * Gives up bodies that stall, or trickle. One timer looks at all of them: most bodies are complete before it turns once, and cost no timer of
 * their own. It counts its turns, so that no body pays for a time in which the process itself stood still.
 */
export function createBodyPace({ stalledMs = 30_000 }: BodyPaceOptions = {}): BodyPace {
  const turnMs = stalledMs / stalledTurns
  const arriving = new Set<ArrivingBody>()
  let timer: NodeJS.Timeout | undefined
  let turn = 0

  function look(): void {
    turn++
    for (const body of arriving) {
      const isStalled = turn - body.lastAt > stalledTurns
      const seconds = ((turn - body.startedAt - 2 * stalledTurns) * turnMs) / 1000
      if (isStalled) body.giveUp(late(`Nothing of the body came for ${stalledMs / 1000} s.`))
      else if (seconds * slowestRate > body.bytes) body.giveUp(late('The body comes too slowly.'))
    }
    if (arriving.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    start(giveUp) {
      const body = { bytes: 0, startedAt: turn, lastAt: turn, giveUp }
      arriving.add(body)
      timer ??= setInterval(look, turnMs).unref()
      return body
    },
    progress(body, bytes) {
      body.bytes += bytes
      body.lastAt = turn
    },
    stop: (body) => void arriving.delete(body),
  }
}

/** Turns of the timer in the time of a stall. */
const stalledTurns = 30

function late(message: string): ServiceError {
  return new ServiceError('request_timeout', message)
}
