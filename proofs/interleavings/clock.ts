import { AsyncLocalStorage } from 'node:async_hooks'
import { getEventListeners } from 'node:events'
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'

/** The owner of timers: a simulated process. Timers of a process that is gone never fire. */
export interface Actor {
  isAlive: boolean
  clock: Clock
}

/** The simulated process whose code is being executed. Promises, timers and listeners keep it. */
export const currentActor = new AsyncLocalStorage<Actor>()

class SimulatedTimer {
  readonly due: number
  readonly actor: Actor
  readonly fire: () => void
  readonly everyMs: number | undefined

  constructor(due: number, actor: Actor, fire: () => void, everyMs?: number) {
    this.due = due
    this.actor = actor
    this.fire = fire
    this.everyMs = everyMs
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }
}

/** The simulated time of one schedule, in milliseconds. Time passes only by `advance`. */
export class Clock {
  now = 1_000_000
  private timers: SimulatedTimer[] = []
  private immediates: SimulatedTimer[] = []

  add(actor: Actor, ms: number, fire: () => void, everyMs?: number): SimulatedTimer {
    const timer = new SimulatedTimer(this.now + Math.max(1, ms), actor, fire, everyMs)
    const index = this.timers.findIndex(({ due }) => due > timer.due)
    this.timers.splice(index === -1 ? this.timers.length : index, 0, timer)
    return timer
  }

  addImmediate(actor: Actor, fire: () => void): SimulatedTimer {
    const timer = new SimulatedTimer(this.now, actor, fire)
    this.immediates.push(timer)
    return timer
  }

  remove(timer: SimulatedTimer): void {
    this.timers = this.timers.filter((other) => other !== timer)
  }

  /** Sets the time to that of the next timer, and fires the timer. */
  advance(): void {
    const timer = this.timers.shift()
    if (!timer) return
    this.now = timer.due
    fire(timer)
    if (timer.everyMs !== undefined && timer.actor.isAlive) this.add(timer.actor, timer.everyMs, timer.fire, timer.everyMs)
  }

  /** Resolves when every promise that can go on without the schedule has gone on. */
  async settle(): Promise<void> {
    await turnOfEventLoop()
    while (this.immediates.length > 0) {
      for (const timer of this.immediates.splice(0)) fire(timer)
      await turnOfEventLoop()
    }
  }
}

function fire(timer: SimulatedTimer): void {
  if (timer.actor.isAlive) currentActor.run(timer.actor, timer.fire)
}

type Callback = (...args: unknown[]) => void

/**
 * Gives simulated processes the simulated time: replaces the global timers, `performance.now` and `Math.random` for the code of actors,
 * and changes nothing for all other code. Returns a function that restores the globals.
 */
export function installClock(random: () => number): () => void {
  const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate } = globalThis
  const { timeout, any } = AbortSignal
  const combinedSignals: AbortSignal[] = []
  const { random: realRandom } = Math
  const realNow = performance.now.bind(performance)
  const simulate = (real: (callback: Callback, ms?: number, ...args: unknown[]) => unknown, isRepeated: boolean) => {
    return (callback: Callback, ms = 1, ...args: unknown[]) => {
      const actor = currentActor.getStore()
      if (!actor) return real(callback, ms, ...args)
      return actor.clock.add(actor, ms, () => callback(...args), isRepeated ? ms : undefined)
    }
  }
  const clear = (real: (timer: never) => void) => (timer: unknown) => {
    if (timer instanceof SimulatedTimer) timer.actor.clock.remove(timer)
    else real(timer as never)
  }
  Object.assign(globalThis, {
    setTimeout: simulate(setTimeout as never, false),
    setInterval: simulate(setInterval as never, true),
    clearTimeout: clear(clearTimeout),
    clearInterval: clear(clearInterval),
    setImmediate: (callback: Callback, ...args: unknown[]) => {
      const actor = currentActor.getStore()
      return actor ? actor.clock.addImmediate(actor, () => callback(...args)) : setImmediate(callback, ...args)
    },
  })
  AbortSignal.timeout = (ms) => {
    const actor = currentActor.getStore()
    if (!actor) return timeout.call(AbortSignal, ms)
    const controller = new AbortController()
    actor.clock.add(actor, ms, () => controller.abort(new DOMException('The time is over.', 'TimeoutError')))
    return controller.signal
  }
  AbortSignal.any = (signals) => {
    const signal = any.call(AbortSignal, signals)
    if (currentActor.getStore()) combinedSignals.push(signal)
    return signal
  }
  performance.now = () => currentActor.getStore()?.clock.now ?? realNow()
  Math.random = () => (currentActor.getStore() ? random() : realRandom())
  return () => {
    Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate })
    AbortSignal.timeout = timeout
    AbortSignal.any = any
    Math.random = realRandom
    delete (performance as { now?: unknown }).now
    combinedSignals.forEach(release)
  }
}

/**
 * Node keeps a combined signal while the signal has listeners, and with it the code of processes that have died while
 * listening.
 */
function release(signal: AbortSignal): void {
  for (const listener of getEventListeners(signal, 'abort')) signal.removeEventListener('abort', listener as () => void)
}
