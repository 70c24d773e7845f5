import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLoopLoad } from './loop-load.ts'
import { retryBusy } from './busy.ts'
import type { Connection } from '../statement.ts'

interface PendingUnit {
  work(connection: Connection): Promise<unknown>
  resolve(value: never): void
  reject(error: unknown): void
}

/** Under load: how long a group gathers. A commit costs a tenth of that, and there are thousands a second to be made. */
const gatherMs = 2

/**
 * Groups units of work: those that wait together share one commit, which is what costs (a sync of the disk). Each runs under a savepoint
 * of its own, so a throw undoes it alone. Nobody is answered before the commit; when that fails, or another process has the database for
 * longer than `limitMs`, every unit of the group is rejected.
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
      // Lets everything of this turn of the event loop join, also what the last group's answers set off.
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
    // Alone in its transaction it needs no savepoint: what undoes the one undoes the other.
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
      // Where SQLite itself ended the transaction (disk full), the whole group is lost, not this unit alone.
      if (!database.isTransaction) throw error
      database.exec('rollback to unit; release unit')
      return () => reject(error)
    }
  }

  function rollBack(): void {
    try {
      if (database.isOpen && database.isTransaction) database.exec('rollback')
    } catch {
      // The group is told why it failed; the next one fails at its begin, should this last.
    }
  }

  return {
    unit,
    /** Resolves when nothing waits any more. */
    async drained(): Promise<void> {
      while (flushing) await flushing
    },
  }
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
