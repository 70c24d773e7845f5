import { callerKey, type Owner } from '../access/owner.ts'
import { FairQueue, PoolBusy, shareOf } from './fair-queue.ts'

/** A bounded number of slots. One caller holds at most half of the slots, and waiting callers take turns. */
export interface FairPool {
  /** Waits for a slot and runs `work` in the slot. Rejects with the signal's reason, or with `PoolBusy`, if the wait ends without a slot. */
  use<T>(request: PoolRequest, work: () => Promise<T>): Promise<T>
}

export interface PoolRequest {
  caller: Owner
  signal?: AbortSignal | undefined
}

export interface FairPoolOptions {
  slots: number
  /** Maximum number of waiting calls per caller. */
  maxWaiting?: number
  /** Limit in milliseconds for every wait, with or without a signal. Default: 60,000. */
  maxWaitMs?: number
}

/** The service as a caller, for reads on behalf of all callers: at start, or when files change. No tenant has an empty name. */
export const serviceItself: Owner = { tenant: '', owner: 'agent-core' }

interface Call {
  caller: Owner
  enter(): void
}

export function createFairPool({ slots, maxWaiting, maxWaitMs = 60_000 }: FairPoolOptions): FairPool {
  const waiting = new FairQueue<Call>(maxWaiting)
  const busy = new Map<string, number>()
  const share = shareOf(slots)
  let usedSlots = 0

  function advance(): void {
    for (const call of waiting) {
      if (usedSlots === slots) return
      const heldSlots = busy.get(callerKey(call.caller)) ?? 0
      if (heldSlots === share) continue
      usedSlots++
      busy.set(callerKey(call.caller), heldSlots + 1)
      waiting.serve(call)
      call.enter()
    }
  }

  function leave(caller: Owner): void {
    const heldSlots = busy.get(callerKey(caller))! - 1
    if (heldSlots > 0) busy.set(callerKey(caller), heldSlots)
    else busy.delete(callerKey(caller))
    usedSlots--
    advance()
  }

  function enter({ caller, signal }: PoolRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = () => stop(signal?.reason)
      const expire = () =>
        stop(new PoolBusy(`No slot became free within ${maxWaitMs / 1000} s because other calls use all of them. Try again later.`))
      const call: Call = {
        caller,
        enter: () => {
          settle()
          resolve()
        },
      }
      waiting.add(call)
      const timer = setTimeout(expire, maxWaitMs)
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
    async use(request, work) {
      request.signal?.throwIfAborted()
      await enter(request)
      try {
        return await work()
      } finally {
        leave(request.caller)
      }
    },
  }
}
