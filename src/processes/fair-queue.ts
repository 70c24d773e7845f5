import { callerKey, type Owner } from '../access/owner.ts'

/** Each waiting call keeps input in memory, and a call behind 200 calls of the same caller would wait longer than the timeout. */
const maxWaitingPerCaller = 200

/** Maximum number of slots per caller: half of the pool, so that another caller finds a free slot, but at least 1. */
export function shareOf(slots: number): number {
  return Math.max(1, Math.floor(slots / 2))
}

interface Waiting {
  caller: Owner
}

/** A call cannot wait, or has waited too long. The message is shown to a model. */
export class PoolBusy extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'PoolBusy'
  }
}

/** Waiting calls of a pool, in serving order: callers take turns (round robin), and the calls of one caller stay in order. */
export class FairQueue<T extends Waiting> {
  /** Least recently served caller first. */
  private readonly callers = new Map<string, Set<T>>()
  private readonly maxPerCaller: number
  private count = 0

  constructor(maxPerCaller = maxWaitingPerCaller) {
    this.maxPerCaller = maxPerCaller
  }

  get size(): number {
    return this.count
  }

  /** Throws `PoolBusy` if too many calls of the caller wait already. */
  add(call: T): void {
    const key = callerKey(call.caller)
    const callerCalls = this.callers.get(key) ?? new Set()
    if (callerCalls.size >= this.maxPerCaller) {
      throw new PoolBusy(`${this.maxPerCaller} of your calls are already waiting. Try again when some of them have ended.`)
    }
    this.callers.set(key, callerCalls.add(call))
    this.count++
  }

  /** Removes a cancelled call. The caller keeps its turn. */
  remove(call: T): void {
    const key = callerKey(call.caller)
    const callerCalls = this.callers.get(key)
    if (!callerCalls?.delete(call)) return
    this.count--
    if (callerCalls.size === 0) this.callers.delete(key)
  }

  /** Removes a call which is served now. The caller moves to the end of the queue. */
  serve(call: T): void {
    this.remove(call)
    const key = callerKey(call.caller)
    const rest = this.callers.get(key)
    if (!rest) return
    this.callers.delete(key)
    this.callers.set(key, rest)
  }

  /** Removes and returns all calls. */
  clear(): T[] {
    const all = [...this]
    this.callers.clear()
    this.count = 0
    return all
  }

  /** The first call of each caller, then the second of each, and so on. Calls may be removed during the iteration. */
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
