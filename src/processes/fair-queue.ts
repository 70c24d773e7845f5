import { callerKey, type Owner } from '../access/owner.ts'

/** Calls of one caller that may wait for one pool: each keeps its input in memory, and the last of them would wait for longer than it has time. */
const maxWaitingPerCaller = 200

/** The places of a pool that one caller may take: half of them, so that another caller finds one. A pool of one place is taken in turns. */
export function shareOf(places: number): number {
  return Math.max(1, Math.floor(places / 2))
}

interface Waiting {
  caller: Owner
}

/** A call can not wait, or has waited too long. The message is for a model. */
export class PoolBusy extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'PoolBusy'
  }
}

/** Calls that wait for a pool, in the order in which they are served: callers take turns, and the calls of one caller keep their order. */
export class FairQueue<T extends Waiting> {
  /** The caller that was served longest ago is first. */
  private readonly callers = new Map<string, Set<T>>()
  private readonly maxPerCaller: number
  private count = 0

  constructor(maxPerCaller = maxWaitingPerCaller) {
    this.maxPerCaller = maxPerCaller
  }

  get size(): number {
    return this.count
  }

  /** Throws `PoolBusy` where too many calls of the caller wait. */
  add(call: T): void {
    const key = callerKey(call.caller)
    const own = this.callers.get(key) ?? new Set()
    if (own.size >= this.maxPerCaller) {
      throw new PoolBusy(`${this.maxPerCaller} calls of yours are waiting for this already. Try again when some of them have ended.`)
    }
    this.callers.set(key, own.add(call))
    this.count++
  }

  /** Takes out a call that waits no more. The caller keeps its turn. */
  remove(call: T): void {
    const key = callerKey(call.caller)
    const own = this.callers.get(key)
    if (!own?.delete(call)) return
    this.count--
    if (own.size === 0) this.callers.delete(key)
  }

  /** Takes out a call that is served now. The caller is behind all others then. */
  serve(call: T): void {
    this.remove(call)
    const key = callerKey(call.caller)
    const rest = this.callers.get(key)
    if (!rest) return
    this.callers.delete(key)
    this.callers.set(key, rest)
  }

  /** Takes out all calls. */
  clear(): T[] {
    const all = [...this]
    this.callers.clear()
    this.count = 0
    return all
  }

  /** The first call of each caller, then the second of each, and so on. Calls may be taken out meanwhile. */
  *[Symbol.iterator](): Generator<T, void> {
    let callers = [...this.callers.values()].map((calls) => calls.values())
    while (callers.length > 0) {
      const next: typeof callers = []
      for (const calls of callers) {
        const { value, done } = calls.next()
        if (done) continue
        next.push(calls)
        yield value
      }
      callers = next
    }
  }
}
