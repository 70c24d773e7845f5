import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { AgentConfig } from '../configuration/schema.ts'
import type { Bus } from '../replicas/bus.ts'
import type { FireSchedule } from './firing.ts'
import type { ReadSchedule } from './schedule.ts'
import type { ScheduleStore } from './schedule-store.ts'

interface EngineDependencies {
  store: Pick<ScheduleStore, 'due' | 'postpone'>
  fire: Pick<FireSchedule, 'due'>
  config(): AgentConfig['schedules']
  bus: Pick<Bus, 'subscribe' | 'publish' | 'onGap'>
  onFault(error: unknown, schedule?: ReadSchedule): void
}

/** Fires due schedules, in every process: the store lets one process fire an occurrence. */
export interface Engine {
  /** A schedule may be due sooner: looks at once, in all processes. */
  changed(): void
  /** Fires nothing more; resolves when the firings on their way have ended. */
  stop(): Promise<void>
}

/** The longest sleep: messages of other processes may get lost. */
const idleMs = 30_000
/** Interval of looks at due schedules without a firing. */
const pollMs = 1000
/** Delay of a schedule after a fault: other schedules come first. */
const faultMs = 5000
const maxRead = 100
/** Concurrent firings. A firing waits for the rights of the owner, attachments and a transaction. */
const maxInFlight = 16

export function createEngine({ store, fire, config, bus, onFault }: EngineDependencies): Engine {
  const inFlight = new Map<string, Promise<void>>()
  const sleeper = createSleeper()
  let isStopped = false
  const endings = [bus.subscribe('schedules', sleeper.wake), bus.onGap(sleeper.wake)]

  async function loop(): Promise<void> {
    while (!isStopped) {
      const sleepMs = config().enabled ? await look() : idleMs
      if (!isStopped) await sleeper.sleep(sleepMs)
    }
  }

  /** Fires what is due, and returns how long nothing more is. */
  async function look(): Promise<number> {
    try {
      const { now, schedules, nextDueAt, hasWaiting } = await store.due(maxRead)
      for (const schedule of schedules) {
        if (!isStopped) start(schedule, now)
        // After an outage, the past of one schedule takes a tenth of a second of processor time.
        await yieldToOthers()
      }
      if (schedules.length > 0 || hasWaiting) return pollMs
      return nextDueAt === undefined ? idleMs : Math.max(0, Math.min(nextDueAt - now, idleMs))
    } catch (error) {
      onFault(error)
      return pollMs
    }
  }

  function start(schedule: ReadSchedule, now: number): void {
    if (inFlight.size >= maxInFlight || inFlight.has(schedule.id)) return
    const firing = fire
      .due(schedule, now)
      .catch(async (error: unknown) => {
        onFault(error, schedule)
        await store.postpone(schedule, faultMs).catch(onFault)
        return false
      })
      .then((isStored) => {
        inFlight.delete(schedule.id)
        // The next occurrence, or a schedule that had no room, may be due already.
        if (isStored) sleeper.wake()
      })
    inFlight.set(schedule.id, firing)
  }

  const looping = loop()
  return {
    changed() {
      sleeper.wake()
      bus.publish('schedules', {})
    },
    async stop() {
      isStopped = true
      for (const end of endings) end()
      sleeper.wake()
      await looping
      await Promise.all(inFlight.values())
    },
  }
}

/** A sleep that ends early by `wake`. A `wake` while nobody sleeps ends the next sleep. */
function createSleeper() {
  let isAwake = false
  let end: (() => void) | undefined
  return {
    wake() {
      isAwake = true
      end?.()
    },
    async sleep(ms: number): Promise<void> {
      if (!isAwake) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const timer = setTimeout(resolve, ms).unref()
        end = resolve
        await promise
        clearTimeout(timer)
        end = undefined
      }
      isAwake = false
    },
  }
}
