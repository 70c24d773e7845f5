/** Throttles reading from a server (token bucket): back-pressure holds a flood at the sender, and the service stays responsive. */
export interface Pace {
  /** Counts a message, and returns the milliseconds to wait before reading on, usually 0. */
  spend(bytes: number): number
}

/** Capacity and refill rate of the bucket. */
const messages = { burst: 500, perSecond: 1000 }
const bytes = { burst: 64 * 1024 * 1024, perSecond: 16 * 1024 * 1024 }

export function createPace(now: () => number = () => performance.now()): Pace {
  let refilledAt = now()
  const budget = { messages: messages.burst, bytes: bytes.burst }

  function refill(): void {
    const seconds = (now() - refilledAt) / 1000
    refilledAt += seconds * 1000
    budget.messages = Math.min(messages.burst, budget.messages + seconds * messages.perSecond)
    budget.bytes = Math.min(bytes.burst, budget.bytes + seconds * bytes.perSecond)
  }

  return {
    spend(size) {
      budget.messages -= 1
      budget.bytes -= size
      if (budget.messages > 0 && budget.bytes > 0) return 0
      refill()
      const waitSeconds = Math.max(-budget.messages / messages.perSecond, -budget.bytes / bytes.perSecond)
      // The 50 ms make each pause long enough that a flood does not set a timer per message.
      return waitSeconds < 0 ? 0 : Math.ceil(waitSeconds * 1000) + 50
    },
  }
}
