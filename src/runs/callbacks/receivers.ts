/** Limits concurrent callbacks per receiving host, so that a dead host cannot delay callbacks to other hosts. */
export interface Receivers {
  /** Claims a slot of the URL's host. Returns the function that releases the slot, or, when none is free, the milliseconds to wait. */
  enter(url: string): (() => void) | number
}

export interface ReceiverLimits {
  initial: number
  min: number
  max: number
  /** Milliseconds. An attempt that takes at least this long counts as slow. */
  slowMs: number
}

/** `initial` applies to an unknown host. `min` stays above 0 so that the callbacks of a dead host still run out of attempts. */
const defaults: ReceiverLimits = { initial: 16, min: 4, max: 1024, slowMs: 3000 }

/** Delay for slow hosts, longer because many callbacks may wait for a slow host and each retry costs a job. */
const slowAgainMs = 15_000
const quickAgainMs = 1000

/** Hosts that are remembered. A forgotten host starts again with the initial limit. */
const maxHosts = 1000

interface Receiver {
  limit: number
  busy: number
}

/** `now` in milliseconds. The limit of a host doubles with each quick attempt and halves with each slow attempt. */
export function createReceivers(now: () => number, { initial, min, max, slowMs }: ReceiverLimits = defaults): Receivers {
  /** By host, least recently used first. */
  const receivers = new Map<string, Receiver>()

  function use(host: string): Receiver {
    const receiver = receivers.get(host) ?? { limit: initial, busy: 0 }
    receivers.delete(host)
    receivers.set(host, receiver)
    for (const [oldest, { busy }] of receivers) {
      if (receivers.size <= maxHosts) break
      if (busy === 0 && oldest !== host) receivers.delete(oldest)
    }
    return receiver
  }

  return {
    enter(url) {
      const receiver = use(new URL(url).host)
      if (receiver.busy >= receiver.limit) return receiver.limit < initial ? slowAgainMs : quickAgainMs
      receiver.busy++
      const startedAt = now()
      return () => {
        receiver.busy--
        const isSlow = now() - startedAt >= slowMs
        receiver.limit = isSlow ? Math.max(min, receiver.limit >> 1) : Math.min(max, receiver.limit * 2)
      }
    },
  }
}
