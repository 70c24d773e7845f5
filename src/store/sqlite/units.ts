import { closeSync, fdatasync, openSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { waitForStore } from '../../concurrency/phase-times.ts'
import { forgetDeferred, type UnitConnection, writeDeferred } from './deferred.ts'
import { CommitUnknown, type Connection, type SyncConnection, type UnitOptions } from '../database.ts'
import { isBusy, isDiskFault, toStoreError } from './faults.ts'

type Work = (connection: Connection & SyncConnection) => unknown

interface PendingUnit {
  work: Work
  resolve(value: never): void
  reject(error: unknown): void
  options: UnitOptions<never> | undefined
  /** Set by the first fault of the disk: the unit is tried again until then, each time alone. */
  retryUntil?: number
}

interface Surroundings {
  /** Makes commits durable that are not; rejects with the error for the callers. Default: commits are durable. */
  sync?(): Promise<void>
  /** How long a group waits for another process that holds the database, in milliseconds. */
  limitMs?: number
}

/** How long a unit is tried again while the disk refuses it, in milliseconds. */
const retryForMs = 10_000
/** The pause between two attempts of a unit, or between two checkpoints after a failed sync, in milliseconds. */
const retryPauseMs = 250

/** Milliseconds to collect a group under load. A commit costs a tenth of this time, at thousands of units per second. */
const gatherMs = 2

/**
 * Groups units of work (group commit): waiting units share one commit and one sync of the disk. A throw rolls back one unit only. A unit
 * settles when its commit is durable; a group of repeatable units is not synced, and settles with the commit. When the disk refuses a commit, its
 * units are tried again, each alone. When that takes too long, a sync fails, or another process holds the database for longer than `limitMs`,
 * every unit of the group is rejected.
 */
export function createUnits(database: DatabaseSync, connection: UnitConnection, { sync, limitMs }: Surroundings = {}) {
  const { pending } = connection
  const isLoopBusy = createLoopLoad()
  let waiting: PendingUnit[] = []
  let flushing: Promise<void> | undefined
  let syncing: Promise<void> | undefined
  /** True where the newest commits have only repeatable units, and are not durable. */
  let isUnsynced = false
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
      await (isLoopBusy() ? sleep(gatherMs) : new Promise((resolve) => setImmediate(resolve)))
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
      const results = await commitAll(group)
      results.forEach((result, n) => {
        if (!(result instanceof Undone)) group[n]!.options?.onCommitted?.(result as never)
      })
      if (!isRepeatable(group)) await syncing
      results.forEach((result, n) => {
        if (result instanceof Undone) retryOrReject(group[n]!, result.error)
        else group[n]!.resolve(result as never)
      })
    } catch (error) {
      for (const pendingUnit of group) retryOrReject(pendingUnit, error)
    }
  }

  /** Begins to make all commits so far durable. */
  function startSync(): void {
    isUnsynced = false
    const started = sync?.()
      .catch((error: unknown) => {
        isUnsynced = true
        throw error
      })
      .finally(() => {
        if (syncing === started) syncing = undefined
      })
    syncing = started
  }

  /** Commits the units, and returns the result of each. Rejects when nothing was committed. */
  async function commitAll(group: PendingUnit[], hasSavepoints = false): Promise<unknown[]> {
    try {
      await retryBusy(() => database.exec('begin immediate'), limitMs)
      const results: unknown[] = []
      try {
        for (const { work } of group) {
          const result = hasSavepoints ? runUnderSavepoint(database, connection, work) : work(connection)
          results.push(result instanceof Promise ? await result : result)
        }
        if (pending.length > 0) writeDeferred(pending)
      } catch (error) {
        // The rollback of the transaction undoes a single unit. When SQLite itself ended the transaction (disk full), the whole group is lost.
        if (group.length === 1 || !database.isTransaction) throw error
        database.exec('rollback')
        forgetDeferred(pending)
        // Savepoints cost a fifth of a unit, and are needed only when a unit throws.
        return await commitAll(group, true)
      }
      database.exec('commit')
      if (isRepeatable(group)) isUnsynced = true
      else startSync()
      return results
    } finally {
      if (pending.length > 0) forgetDeferred(pending)
      if (database.isOpen && database.isTransaction) rollBack(database)
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

  return {
    unit,
    /** Resolves when all commits that are visible now are durable; undefined when they are. Rejects as the units do. */
    durable(): Promise<void> | undefined {
      if (isUnsynced) startSync()
      return syncing
    },
    /** Resolves when no unit is waiting. */
    async drained(): Promise<void> {
      while (flushing || retries.size > 0) await (flushing ?? Promise.all(retries))
    },
  }
}

function isRepeatable(group: readonly PendingUnit[]): boolean {
  return group.every(({ options }) => options?.isRepeatable)
}

/** The result of a unit that was rolled back alone. */
class Undone {
  readonly error: unknown
  constructor(error: unknown) {
    this.error = error
  }
}

async function runUnderSavepoint(database: DatabaseSync, connection: UnitConnection, work: Work): Promise<unknown> {
  database.exec('savepoint unit')
  try {
    const result = await work(connection)
    writeDeferred(connection.pending)
    database.exec('release unit')
    return result
  } catch (error) {
    forgetDeferred(connection.pending)
    if (!database.isTransaction) throw error
    database.exec('rollback to unit; release unit')
    return new Undone(error)
  }
}

function rollBack(database: DatabaseSync): void {
  try {
    database.exec('rollback')
  } catch {
    // The group is rejected with the original error. The next group fails at its begin when the fault persists.
  }
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

const fdatasyncAsync = promisify(fdatasync)

/**
 * Syncs the write-ahead log of SQLite in a thread of libuv. With `synchronous=FULL` SQLite does nothing else for durability than this sync at the
 * end of each commit, but stops the event loop meanwhile. With `synchronous=NORMAL` SQLite leaves the sync out; it still syncs log and database
 * around a checkpoint.
 * @param walFile exists as soon as the database has been written
 * @param recoverForMs how long checkpoints are tried after a failed sync, in milliseconds
 */
export function createWalSync(writer: DatabaseSync, walFile: string, recoverForMs = 10_000) {
  // Only the database file has locks, which closing another descriptor of the file would release. The log has none.
  let descriptor: number | undefined
  let hasFailed = false

  /** Resolves when all commits so far are on the disk. Rejects with `CommitUnknown` when the disk has failed. */
  async function sync(): Promise<void> {
    if (hasFailed) return recover(undefined)
    try {
      descriptor ??= openSync(walFile, 'r+')
      await fdatasyncAsync(descriptor)
    } catch (error) {
      await recover(error)
    }
  }

  /** After a failed sync the system may drop what it could not write, and report success next time. A checkpoint writes the same pages again. */
  async function recover(cause: unknown): Promise<void> {
    hasFailed = true
    for (const until = performance.now() + recoverForMs; ; await sleep(retryPauseMs)) {
      try {
        return checkpoint()
      } catch {
        if (performance.now() >= until) throw new CommitUnknown(cause)
      }
    }
  }

  /** Writes all commits to the database file, and syncs the file. */
  function checkpoint(): void {
    const { busy } = writer.prepare('pragma wal_checkpoint(truncate)').get() as { busy: number }
    if (busy !== 0) throw new Error('Another process reads the database, so the log cannot be written to it.')
    hasFailed = false
  }

  return {
    sync,
    close() {
      if (descriptor !== undefined) closeSync(descriptor)
    },
  }
}
