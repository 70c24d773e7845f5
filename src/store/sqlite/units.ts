import { performance } from 'node:perf_hooks'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { waitForStore } from '../../concurrency/phase-times.ts'
import type { UnitOptions } from '../database.ts'
import type { Connection, SyncConnection } from '../statement.ts'
import { isBusy, isDiskFault, toStoreError } from './faults.ts'

interface PendingUnit {
  work(connection: Connection & SyncConnection): unknown
  resolve(value: never): void
  reject(error: unknown): void
  options: UnitOptions<never> | undefined
  /** Set by the first fault of the disk: the unit is tried again until then, each time alone. */
  retryUntil?: number
}

/** Settles a unit of a committed group. */
interface Answer {
  committed?(): void
  durable(): void
}

interface Surroundings {
  /** Makes commits durable that are not; rejects with the error for the callers. Default: commits are durable. */
  sync?(): Promise<void>
  /** How long a group waits for another process that holds the database, in milliseconds. */
  limitMs?: number
}

/** How long a unit is tried again while the disk refuses it, and the pause between two attempts, in milliseconds. */
const retryForMs = 10_000
const retryPauseMs = 250

/** Milliseconds to collect a group under load. A commit costs a tenth of this time, at thousands of units per second. */
const gatherMs = 2

/**
 * Groups units of work (group commit): waiting units share one commit and one sync of the disk. A throw rolls back one unit only. A unit
 * settles when its commit is durable. When the disk refuses a commit, its units are tried again, each alone. When that takes too long, a sync
 * fails, or another process holds the database for longer than `limitMs`, every unit of the group is rejected.
 */
export function createUnits(database: DatabaseSync, connection: Connection & SyncConnection, { sync, limitMs }: Surroundings = {}) {
  const isLoopBusy = createLoopLoad()
  let waiting: PendingUnit[] = []
  let flushing: Promise<void> | undefined
  let syncing: Promise<void> | undefined
  /** Pauses before another attempt of a unit. */
  const retries = new Set<Promise<void>>()

  function unit<T>(work: (connection: Connection & SyncConnection) => T | Promise<T>, options?: UnitOptions<T>): Promise<T> {
    return waitForStore(() => new Promise<T>((resolve, reject) => enqueue({ work, resolve, reject, options })))
  }

  function enqueue(pendingUnit: PendingUnit): void {
    waiting.push(pendingUnit)
    flushing ??= flush()
  }

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      // Waits for a turn of the event loop, so that units triggered by the results of the last group join.
      await (isLoopBusy() ? sleep(gatherMs) : nextTick())
      const all = waiting
      waiting = []
      const group = all.filter(({ retryUntil }) => retryUntil === undefined)
      if (group.length > 0) await commit(group)
      if (group.length < all.length) for (const refused of all) if (refused.retryUntil !== undefined) await commit([refused])
    }
    flushing = undefined
  }

  async function commit(group: PendingUnit[]): Promise<void> {
    try {
      // Savepoints cost a fifth of a unit, and are needed only when a unit throws.
      const answers = (await commitAll(group, runPlain)) ?? (await commitAll(group, runUnderSavepoint)) ?? []
      for (const { committed } of answers) committed?.()
      await syncing
      for (const { durable } of answers) durable()
    } catch (error) {
      for (const pendingUnit of group) retryOrReject(pendingUnit, error)
    } finally {
      syncing = undefined
    }
  }

  function retryOrReject(pendingUnit: PendingUnit, error: unknown): void {
    const now = performance.now()
    if (isDiskFault(error)) pendingUnit.retryUntil ??= now + (pendingUnit.options?.retryForMs ?? retryForMs)
    if (!isDiskFault(error) || now + retryPauseMs > pendingUnit.retryUntil!) return pendingUnit.reject(toStoreError(error))
    const retry = sleep(retryPauseMs).then(() => {
      retries.delete(retry)
      enqueue(pendingUnit)
    })
    retries.add(retry)
  }

  /** Commits the units, and returns what settles them. Undefined when a unit must be undone alone: then nothing was committed. */
  async function commitAll(group: PendingUnit[], run: typeof runPlain): Promise<Answer[] | undefined> {
    const answers: Answer[] = []
    try {
      await retryBusy(() => database.exec('begin immediate'), limitMs)
      for (const pendingUnit of group) {
        const answer = await run(pendingUnit, group.length === 1)
        if (!answer) return undefined
        answers.push(answer)
      }
      database.exec('commit')
      syncing = sync?.()
    } finally {
      rollBack()
    }
    return answers
  }

  async function runPlain(pendingUnit: PendingUnit, isAlone: boolean): Promise<Answer | undefined> {
    try {
      const result = pendingUnit.work(connection)
      return answerOf(pendingUnit, result instanceof Promise ? await result : result)
    } catch (error) {
      // The rollback of the transaction undoes a single unit. When SQLite itself ended the transaction (disk full), the whole group is lost.
      if (isAlone || !database.isTransaction) throw error
      return undefined
    }
  }

  async function runUnderSavepoint(pendingUnit: PendingUnit): Promise<Answer> {
    database.exec('savepoint unit')
    try {
      const value = await pendingUnit.work(connection)
      database.exec('release unit')
      return answerOf(pendingUnit, value)
    } catch (error) {
      if (!database.isTransaction) throw error
      database.exec('rollback to unit; release unit')
      return { durable: () => retryOrReject(pendingUnit, error) }
    }
  }

  function rollBack(): void {
    try {
      if (database.isOpen && database.isTransaction) database.exec('rollback')
    } catch {
      // The group is rejected with the original error. The next group fails at its begin when the fault persists.
    }
  }

  return {
    unit,
    /** Resolves when all commits that are visible now are durable; undefined when they are. Rejects as the units do. */
    durable: (): Promise<void> | undefined => syncing,
    /** Resolves when no unit is waiting. */
    async drained(): Promise<void> {
      while (flushing || retries.size > 0) await (flushing ?? Promise.all(retries))
    },
  }
}

function answerOf({ resolve, options }: PendingUnit, value: unknown): Answer {
  const durable = () => resolve(value as never)
  return options?.onCommitted ? { committed: () => options.onCommitted?.(value as never), durable } : { durable }
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Minimum interval between samples of the event loop's utilization, in milliseconds. */
const sampleMs = 20
const busyUtilization = 0.9

/** Returns a function that tells whether the event loop is saturated. Then a short delay costs nothing, and grouped work saves time. */
function createLoopLoad(): () => boolean {
  let sampledAt = performance.now()
  let before = performance.eventLoopUtilization()
  let isSaturated = false
  return () => {
    const now = performance.now()
    if (now - sampledAt >= sampleMs) {
      const current = performance.eventLoopUtilization()
      isSaturated = performance.eventLoopUtilization(current, before).utilization >= busyUtilization
      before = current
      sampledAt = now
    }
    return isSaturated
  }
}

/** Time limit in milliseconds for a lock. The command line writes while the service runs, in short units, so waits are short. */
export const busyTimeoutMs = 5000

/**
 * Repeats `work` until the lock of a SQLite file is free. The busy timeout of SQLite would block the event loop, and polls so rarely that a
 * busy writer starves another process.
 */
export async function retryBusy<T>(work: () => T, limitMs = busyTimeoutMs): Promise<T> {
  const until = performance.now() + limitMs
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || performance.now() >= until) throw error
    }
    await sleep(pauseMs)
  }
}

const pauseMs = 1
