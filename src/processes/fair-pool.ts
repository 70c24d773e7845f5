import { callerKey, type Owner } from '../access/owner.ts'
import { FairQueue, PoolBusy, shareOf } from './fair-queue.ts'

/** A bounded number of places. One caller has half of them at most, and callers that wait take turns. */
export interface FairPool {
  /** Does the work in a place of the pool. Rejects with the signal's reason or with `PoolBusy` while the call waits. */
  use<T>(asker: Asker, work: () => Promise<T>): Promise<T>
}

export interface Asker {
  caller: Owner
  signal?: AbortSignal | undefined
}

export interface FairPoolOptions {
  places: number
  /** Calls of one caller that may wait. */
  maxWaiting?: number
  /** A call without a signal of its own has an end too. */
  maxWaitMs?: number
}

/** The service as a caller: what it reads for all callers, when it starts or when files change. No tenant has an empty name. */
export const serviceItself: Owner = { tenant: '', owner: 'agent-core' }

interface Call {
  caller: Owner
  enter(): void
}

export function createFairPool({ places, maxWaiting, maxWaitMs = 60_000 }: FairPoolOptions): FairPool {
  const waiting = new FairQueue<Call>(maxWaiting)
  const busy = new Map<string, number>()
  const share = shareOf(places)
  let taken = 0

  function advance(): void {
    for (const call of waiting) {
      if (taken === places) return
      const own = busy.get(callerKey(call.caller)) ?? 0
      if (own === share) continue
      taken++
      busy.set(callerKey(call.caller), own + 1)
      waiting.serve(call)
      call.enter()
    }
  }

  function leave(caller: Owner): void {
    const own = busy.get(callerKey(caller))! - 1
    if (own > 0) busy.set(callerKey(caller), own)
    else busy.delete(callerKey(caller))
    taken--
    advance()
  }

  function enter({ caller, signal }: Asker): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = () => stop(signal?.reason)
      const late = () =>
        stop(new PoolBusy(`No place became free within ${maxWaitMs / 1000} s: other calls take all of them. Try again later.`))
      const call: Call = {
        caller,
        enter: () => {
          settle()
          resolve()
        },
      }
      waiting.add(call)
      const timer = setTimeout(late, maxWaitMs)
      signal?.addEventListener('abort', abort, { once: true })
      advance()

      function settle(): void {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
      }

      function stop(error: unknown): void {
        settle()
        waiting.remove(call)
        reject(error)
      }
    })
  }

  return {
    async use(asker, work) {
      asker.signal?.throwIfAborted()
      await enter(asker)
      try {
        return await work()
      } finally {
        leave(asker.caller)
      }
    },
  }
}
