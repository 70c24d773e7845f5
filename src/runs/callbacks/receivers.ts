/** How many callbacks are sent to a receiver at a time: one that does not answer must not hold up those of others. */
export interface Receivers {
  /** Begins to send to an address: answers with what says that it is over, or with the milliseconds until it should be tried again. */
  enter(url: string): (() => void) | number
}

export interface ReceiverLimits {
  first: number
  least: number
  most: number
  /** Milliseconds; whoever takes longer is slow. */
  slowMs: number
}

/** One that nobody knows gets a part of the places that there are; what is dead still gets a few, so that its callbacks come to their end. */
const defaults: ReceiverLimits = { first: 16, least: 4, most: 1024, slowMs: 3000 }

/** Those that wait for a slow one may be many, and each look costs something. */
const slowAgainMs = 15_000
const quickAgainMs = 1000

/** So many are remembered; what is forgotten begins anew. */
const maxKnown = 1000

interface Receiver {
  limit: number
  busy: number
}

/** `now` in milliseconds. The bound of a receiver grows with each quick end, and falls with each slow one. */
export function createReceivers(now: () => number, { first, least, most, slowMs }: ReceiverLimits = defaults): Receivers {
  /** Least recently used first. */
  const known = new Map<string, Receiver>()

  function use(host: string): Receiver {
    const one = known.get(host) ?? { limit: first, busy: 0 }
    known.delete(host)
    known.set(host, one)
    for (const [oldest, { busy }] of known) {
      if (known.size <= maxKnown) break
      if (busy === 0 && oldest !== host) known.delete(oldest)
    }
    return one
  }

  return {
    enter(url) {
      const receiver = use(new URL(url).host)
      if (receiver.busy >= receiver.limit) return receiver.limit < first ? slowAgainMs : quickAgainMs
      receiver.busy++
      const startedAt = now()
      return () => {
        receiver.busy--
        const isSlow = now() - startedAt >= slowMs
        receiver.limit = isSlow ? Math.max(least, receiver.limit >> 1) : Math.min(most, receiver.limit * 2)
      }
    },
  }
}
