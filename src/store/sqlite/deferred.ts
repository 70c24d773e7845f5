import type { Connection, Deferred, SyncConnection } from '../database.ts'

/** The writing connection. Its `execute` writes the deferred changes first. */
export interface UnitConnection extends Connection, SyncConnection {
  /** The deferred changes of the open transaction. */
  readonly pending: Deferred[]
}

/** Executes the deferred changes, before the end of a transaction or of a savepoint. */
export function writeDeferred(pending: Deferred[]): void {
  for (const changes of pending) changes.write()
  forgetDeferred(pending)
}

/** Drops the deferred changes after a rollback. */
export function forgetDeferred(pending: Deferred[]): void {
  for (const changes of pending.splice(0)) changes.forget()
}
