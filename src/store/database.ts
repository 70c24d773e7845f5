import type { Compilable, Kysely } from 'kysely'
import type { Connection, Result } from './statement.ts'
import type { Tables } from './tables.ts'

/** A place that keeps things: SQLite in this process, or Postgres. */
export interface Database {
  /** Builds queries; also runs those outside of the hot path, reads only. */
  readonly db: Kysely<Tables>
  /** Whether other processes may use it too. */
  readonly isShared: boolean
  /** Names of the migrations that opening it took. */
  readonly migrated: readonly string[]
  /** For reads; sees what is committed. */
  readonly read: Connection
  /**
   * Runs a unit of work in a transaction and answers once it is durable. The unit awaits nothing but its queries.
   * A throw rolls back this unit alone.
   */
  unit<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /** Throws when the database can't be reached. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** Runs a query that is built anew each time; for what is asked seldom. */
export function run<R>(connection: Connection, query: Compilable<R>): Promise<Result<R>> {
  const { sql, parameters } = query.compile()
  return connection.execute<R>(sql, parameters)
}
