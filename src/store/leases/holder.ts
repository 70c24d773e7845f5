import type { Logger } from 'pino'
import type { Bus } from '../../replicas/bus.ts'
import type { Database } from '../database.ts'
import { createProcessStore, untilForgottenMs, type ProcessDescription } from './processes.ts'
import { settlesWithin } from '../../concurrency/settles-within.ts'
import { reachState } from '../../states.ts'

/**
 * Duration of a lease, and interval of its renewals, in milliseconds. A process survives a stalled event loop or database of 8 s. The runs of
 * a killed process are adopted within 12 s plus the duration of a sweep.
 */
export const leaseMs = 10_000
export const heartbeatMs = 2000
/** A failed renewal is retried after `retryMs`; a renewal without an answer fails after `attemptMs`. */
const retryMs = 500
export const attemptMs = 3000
/**
 * While the database is unreachable no process can renew its lease, and afterwards all leases have expired. A process must therefore have
 * held its own lease for this time before the process treats the expired leases of others as lost.
 */
const watchMs = 2 * heartbeatMs + retryMs
/**
 * A process whose event loop had no longer pause lost its lease because of the database, not because a run blocked the process. Longer than
 * a renewal may take, shorter than a stall that costs the lease.
 */
const longPauseMs = 5000
/** Interval of the search for runs that a fault dropped from memory, for a process with a database of its own. */
const pollMs = 15_000

/** Adopts the runs of lost processes. A process is lost when its lease expired more than `graceMs` ago. */
export type Adopt = (graceMs: number) => Promise<void>

/** This process as the holder of runs. */
export interface Holder {
  readonly id: string
  /** Calls `adopt` now, at every heartbeat while there may be runs to adopt, and whenever another process publishes that it stops. */
  onLost(adopt: Adopt): void
  /** Releases the lease and all runs of this process, so that other processes adopt the runs at once. */
  release(): Promise<void>
}

interface HolderOptions {
  id: string
  bus: Bus
  log: Logger
  process?: ProcessDescription
}

/** An embedded database has a single process and needs no lease. */
export async function keepHolder(database: Database, options: HolderOptions): Promise<Holder> {
  return database.isShared ? holdLease(database, options) : holdAlone(database, options)
}

function holdAlone(database: Database, { id, log }: HolderOptions): Holder {
  let timer: NodeJS.Timeout | undefined
  let isReleased = false
  return {
    id,
    onLost(adopt) {
      const look = () => void adopt(0).catch((err: unknown) => log.error({ err }, 'adopt'))
      look()
      timer = setInterval(look, pollMs).unref()
    },
    async release() {
      if (isReleased) return
      isReleased = true
      clearInterval(timer)
      await createProcessStore(database).release(id)
    },
  }
}

async function holdLease(database: Database, { id, bus, log, process }: HolderOptions): Promise<Holder> {
  const processes = createProcessStore(database)
  let adopt: Adopt | undefined
  /** Time of the last renewal, and start of the current period without a gap. */
  let renewedAt = performance.now()
  let heldSince = renewedAt
  let timer: NodeJS.Timeout | undefined
  let currentHeartbeat = Promise.resolve()
  /** The longest pause of the event loop since the last renewal. */
  let steppedAt = renewedAt
  let longestPauseMs = 0
  let isReleased = false
  let hadRuns = true

  async function heartbeat(): Promise<void> {
    const startedAt = performance.now()
    step()
    try {
      const { wasHeld, hasRuns } = await answerOf(processes.renew(id, leaseMs, process))
      step()
      if (!wasHeld) reachState('lease-lost')
      if (!wasHeld) log.warn('The lease of this process had expired: its runs may have been taken over')
      if (!wasHeld && longestPauseMs < longPauseMs) {
        reachState('loss-forgiven')
        await answerOf(processes.forgive(id))
      }
      longestPauseMs = 0
      if (!wasHeld || performance.now() - renewedAt > watchMs) heldSince = performance.now()
      renewedAt = performance.now()
      scheduleHeartbeat(Math.max(0, heartbeatMs - (renewedAt - startedAt)))
      // One more sweep after the last with runs: a sweep compares its runs with those of the sweep before.
      if (hasRuns || hadRuns) sweep()
      hadRuns = hasRuns
    } catch (err) {
      reachState('renewal-failed')
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
    const graceMs = performance.now() - heldSince >= watchMs ? 0 : untilForgottenMs
    if (graceMs > 0) reachState('leases-doubted')
    adopt?.(graceMs).catch((err: unknown) => log.error({ err }, 'adopt'))
  }

  await processes.renew(id, leaseMs, process)
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
