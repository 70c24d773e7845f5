import { performance } from 'node:perf_hooks'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from '../statement.ts'

interface PendingUnit {
  work(connection: Connection): Promise<unknown>
  resolve(value: never): void
  reject(error: unknown): void
}

/** Milliseconds to collect a group under load. A commit costs a tenth of this time, at thousands of units per second. */
const gatherMs = 2

/**
 * Groups units of work (group commit): waiting units share one commit, because a commit syncs the disk. Each unit runs under a savepoint of
 * its own, so a throw rolls back one unit only. A unit settles after the commit. When the commit fails, or another process holds the database
 * for longer than `limitMs`, every unit of the group is rejected.
 */
export function createUnits(database: DatabaseSync, connection: Connection, limitMs?: number) {
  const isLoopBusy = createLoopLoad()
  let waiting: PendingUnit[] = []
  let flushing: Promise<void> | undefined

  function unit<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      waiting.push({ work, resolve, reject })
      flushing ??= flush()
    })
  }

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      // Waits for a turn of the event loop, so that units triggered by the results of the last group join.
      await (isLoopBusy() ? sleep(gatherMs) : nextTick())
      const group = waiting
      waiting = []
      await commit(group)
    }
    flushing = undefined
  }

  async function commit(group: PendingUnit[]): Promise<void> {
    const answers: (() => void)[] = []
    try {
      await retryBusy(() => database.exec('begin immediate'), limitMs)
      for (const pendingUnit of group) answers.push(await runUnit(pendingUnit, group.length === 1))
      database.exec('commit')
    } catch (error) {
      rollBack()
      for (const pendingUnit of group) pendingUnit.reject(error)
      return
    }
    for (const answer of answers) answer()
  }

  async function runUnit({ work, resolve, reject }: PendingUnit, isAlone: boolean): Promise<() => void> {
    // A single unit needs no savepoint: the rollback of the transaction undoes the unit.
    if (isAlone) {
      const value = await work(connection)
      return () => resolve(value as never)
    }
    database.exec('savepoint unit')
    try {
      const value = await work(connection)
      database.exec('release unit')
      return () => resolve(value as never)
    } catch (error) {
      // When SQLite itself ended the transaction (disk full), the whole group is lost.
      if (!database.isTransaction) throw error
      database.exec('rollback to unit; release unit')
      return () => reject(error)
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
    /** Resolves when no unit is waiting. */
    async drained(): Promise<void> {
      while (flushing) await flushing
    },
  }
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

/** True when another connection has the lock. The low byte of `errcode` is the primary result code of SQLite. */
export function isBusy(error: unknown): boolean {
  const { errcode = 0 } = error as { errcode?: number }
  return (errcode & 0xff) === sqliteBusy
}

const sqliteBusy = 5
