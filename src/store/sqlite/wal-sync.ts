import { closeSync, fdatasync, openSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { CommitUnknown } from '../database.ts'

/** Makes the commits of a database durable, while the event loop goes on. */
export interface WalSync {
  /** Resolves when all commits so far are on the disk. Rejects with `CommitUnknown` when the disk has failed. */
  sync(): Promise<void>
  close(): void
}

/** The pause between two checkpoints after a failed sync, in milliseconds. */
const retryPauseMs = 250

const fdatasyncAsync = promisify(fdatasync)

/**
 * Syncs the write-ahead log of SQLite in a thread of libuv. With `synchronous=FULL` SQLite does nothing else for durability than this sync at the
 * end of each commit, but stops the event loop meanwhile. With `synchronous=NORMAL` SQLite leaves the sync out; it still syncs log and database
 * around a checkpoint.
 * @param walFile exists as soon as the database has been written
 * @param recoverForMs how long checkpoints are tried after a failed sync, in milliseconds
 */
export function createWalSync(writer: DatabaseSync, walFile: string, recoverForMs = 10_000): WalSync {
  // Only the database file has locks, which closing another descriptor of the file would release. The log has none.
  let descriptor: number | undefined
  let hasFailed = false

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
