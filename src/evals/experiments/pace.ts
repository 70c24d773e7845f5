import { setTimeout as delay } from 'node:timers/promises'
import { orAborted } from '../../concurrency/or-aborted.ts'

/** Replays of one process, beside its chats: few at once, with rests, and none while the process is overloaded. */
export interface ReplayPace {
  /** Runs `work` when a place is free. Rejects with the reason of the signal, and with `Overloaded` where the process stays overloaded. */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>
}

/** The process has been overloaded for so long that another process should go on. */
export class Overloaded extends Error {
  override readonly name = 'Overloaded'
}

export interface PaceOptions {
  concurrency(): number
  /** The reason of an overload; undefined for none. */
  overload(): string | undefined
  /** True while chats run in the process. */
  isBusy(): boolean
  /** Milliseconds between two looks at an overload, and until `Overloaded`. */
  overloadMs?: { poll: number; giveUp: number }
}

/** A rest lasts so many times longer than the event loop was active during the replay. */
const restFactor = 4
const maxRestMs = 1000

export function createReplayPace({ concurrency, overload, isBusy, overloadMs = { poll: 500, giveUp: 30_000 } }: PaceOptions): ReplayPace {
  let running = 0
  const waiting = new Set<() => void>()

  function wakeNext(): void {
    const [next] = waiting
    if (next) waiting.delete(next)
    next?.()
  }

  async function enter(signal: AbortSignal): Promise<void> {
    while (running >= concurrency()) {
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.add(resolve)
      await orAborted(promise, signal).catch((error: unknown) => {
        // The place was given to work that has ended meanwhile.
        if (!waiting.delete(resolve)) wakeNext()
        throw error
      })
    }
    running++
  }

  function leave(): void {
    running--
    wakeNext()
  }

  async function waitForCapacity(signal: AbortSignal): Promise<void> {
    for (let waitedMs = 0; overload() !== undefined; waitedMs += overloadMs.poll) {
      if (waitedMs >= overloadMs.giveUp) throw new Overloaded(overload())
      await delay(overloadMs.poll, undefined, { signal })
    }
  }

  return {
    async run(work, signal) {
      await enter(signal)
      try {
        await waitForCapacity(signal)
        const before = performance.eventLoopUtilization()
        const result = await work()
        const { active } = performance.eventLoopUtilization(before)
        await delay(isBusy() ? Math.min(active * restFactor, maxRestMs) : 0)
        return result
      } finally {
        leave()
      }
    },
  }
}
