/** How fast a server is listened to: a flood waits at its own end, and the service has time for others. */
export interface Pace {
  /** Counts one message; answers with the milliseconds to wait before the next, 0 for most. */
  spend(bytes: number): number
}

/** What may come at once, and again each second. */
const messages = { burst: 500, perSecond: 1000 }
const bytes = { burst: 64 * 1024 * 1024, perSecond: 16 * 1024 * 1024 }

export function createPace(now: () => number = () => performance.now()): Pace {
  let at = now()
  const left = { messages: messages.burst, bytes: bytes.burst }

  function refill(): void {
    const seconds = (now() - at) / 1000
    at += seconds * 1000
    left.messages = Math.min(messages.burst, left.messages + seconds * messages.perSecond)
    left.bytes = Math.min(bytes.burst, left.bytes + seconds * bytes.perSecond)
  }

  return {
    spend(size) {
      left.messages -= 1
      left.bytes -= size
      if (left.messages > 0 && left.bytes > 0) return 0
      refill()
      const owed = Math.max(-left.messages / messages.perSecond, -left.bytes / bytes.perSecond)
      // Long enough that not every message of a flood sets a timer.
      return owed < 0 ? 0 : Math.ceil(owed * 1000) + 50
    },
  }
}
