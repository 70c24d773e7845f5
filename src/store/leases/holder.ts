import type { Logger } from 'pino'
import type { Bus } from '../../replicas/bus.ts'
import type { Database } from '../database.ts'
import { createProcessStore, untilForgottenMs } from './processes.ts'
import { settlesWithin } from '../../concurrency/settles-within.ts'

/**
 * How long a lease lasts, and how often it is renewed. A process whose event loop or database stands still for 8 s loses nothing; what a
 * killed one had is taken up within 12 s and what one sweep takes.
 */
const lifeMs = 10_000
export const heartbeatMs = 2000
/** A renewal that failed, or hangs for so long, is tried again. */
const retryMs = 500
const attemptMs = 3000
/**
 * Nobody could renew a lease while the database was away, and all have run out when it is back: so long a process must have kept its own
 * before it believes that of others.
 */
const watchMs = 2 * heartbeatMs + retryMs
/**
 * A process whose event loop turned all the time lost its lease by its database alone: nothing that it ran has stopped it. Longer than a
 * renewal may take, shorter than a standstill that costs a lease.
 */
const longPauseMs = 5000
/** How often a process that is alone looks for runs that a fault made it forget. */
const lookEveryMs = 15_000

/** Takes up what lost processes left; one is lost when its lease has run out for more than `graceMs`. */
export type Adopt = (graceMs: number) => Promise<void>

/** This process, as the one that runs belong to. */
export interface Holder {
  readonly id: string
  /** Calls `adopt` now, whenever another process says that it leaves, and again and again while others may die. */
  onLost(adopt: Adopt): void
  /** Nothing belongs to this process any more: others take it up at once. */
  release(): Promise<void>
}

interface Options {
  id: string
  bus: Bus
  log: Logger
}

/** Of an embedded database nobody else has anything. */
export async function keepHolder(database: Database, options: Options): Promise<Holder> {
  return database.isShared ? keepLease(database, options) : keepAlone(database, options)
}

function keepAlone(database: Database, { id, log }: Options): Holder {
  let timer: NodeJS.Timeout | undefined
  let isReleased = false
  return {
    id,
    onLost(adopt) {
      const look = () => void adopt(0).catch((err: unknown) => log.error({ err }, 'adopt'))
      look()
      timer = setInterval(look, lookEveryMs).unref()
    },
    async release() {
      if (isReleased) return
      isReleased = true
      clearInterval(timer)
      await createProcessStore(database).release(id)
    },
  }
}

async function keepLease(database: Database, { id, bus, log }: Options): Promise<Holder> {
  const processes = createProcessStore(database)
  let adopt: Adopt | undefined
  /** When it was renewed last, and since when that has gone on without a break. */
  let renewedAt = performance.now()
  let keptSince = renewedAt
  let timer: NodeJS.Timeout | undefined
  let currentHeartbeat = Promise.resolve()
  /** The longest pause of the event loop since the lease was renewed. */
  let steppedAt = renewedAt
  let longestPauseMs = 0
  let isReleased = false

  async function heartbeat(): Promise<void> {
    const startedAt = performance.now()
    step()
    try {
      const isKept = await answerOf(processes.renew(id, lifeMs))
      step()
      if (!isKept) log.warn('The lease of this process had run out: what it had may be taken over by now')
      if (!isKept && longestPauseMs < longPauseMs) await answerOf(processes.forgive(id))
      longestPauseMs = 0
      if (!isKept || performance.now() - renewedAt > watchMs) keptSince = performance.now()
      renewedAt = performance.now()
      scheduleHeartbeat(Math.max(0, heartbeatMs - (renewedAt - startedAt)))
      sweep()
    } catch (err) {
      log.warn({ err }, 'The lease of this process could not be renewed')
      step()
      scheduleHeartbeat(retryMs)
    }
  }

  function step(): void {
    const at = performance.now()
    longestPauseMs = Math.max(longestPauseMs, at - steppedAt)
    steppedAt = at
  }

  function scheduleHeartbeat(ms: number): void {
    if (!isReleased) timer = setTimeout(() => void (currentHeartbeat = heartbeat()), ms).unref()
  }

  function sweep(): void {
    const graceMs = performance.now() - keptSince >= watchMs ? 0 : untilForgottenMs
    adopt?.(graceMs).catch((err: unknown) => log.error({ err }, 'adopt'))
  }

  await processes.renew(id, lifeMs)
  scheduleHeartbeat(heartbeatMs)
  const stop = [bus.subscribe('left', sweep), bus.onGap(sweep)]
  return {
    id,
    onLost(callback) {
      adopt = callback
      sweep()
    },
    async release() {
      if (isReleased) return
      isReleased = true
      for (const unsubscribe of stop) unsubscribe()
      clearTimeout(timer)
      await currentHeartbeat
      await processes.release(id)
      bus.publish('left', { holder: id })
    },
  }
}

/** The answer of the database, or an error when none comes within `attemptMs`. */
async function answerOf<T>(query: Promise<T>): Promise<T> {
  if (!(await settlesWithin(query, attemptMs))) throw new Error(`No answer within ${attemptMs} ms.`)
  return query
}
