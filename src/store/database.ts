import type { Compilable, Kysely } from 'kysely'
import type pg from 'pg'
import { ServiceError } from '../errors.ts'
import type { JobStore } from './jobs/job-store.ts'
import type { Connection, Result, SyncConnection } from './statement.ts'
import type { Tables } from './tables.ts'

/** The service's database: SQLite in this process, or a Postgres server. */
export interface Database {
  /** Builds queries. */
  readonly db: Kysely<Tables>
  /** True when other processes may use the database too. */
  readonly isShared: boolean
  /** Names of the migrations that ran when the database was opened. */
  readonly migrated: readonly string[]
  /** Reads and writes the rows of one tenant only. On Postgres, row-level security enforces the limit whatever a query selects. */
  forTenant(tenant: string): Scope
  /** Reads and writes the rows of all tenants: for sweeps, jobs and keys. */
  readonly all: Scope
  readonly jobs: JobStore
  /** Present when the database is a Postgres server. */
  readonly postgres?: PostgresServer
  /** Present when the database is embedded in this process. */
  readonly embedded?: EmbeddedDatabase
  /** Throws when the database cannot be reached. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** Access to the rows of one tenant, or of all tenants. */
export interface Scope {
  /** For reads; sees committed data. Repeats a read when the connection breaks, so changes must not use this connection. */
  readonly read: Connection
  /**
   * For a unit of work of a single statement: durable when `execute` resolves. Rejects with `CommitUnknown` when the connection breaks before
   * the answer; the caller then reads back whether the statement was stored.
   */
  readonly write: Connection
  /**
   * Runs a unit of work in a transaction and resolves once the transaction is durable. `work` awaits nothing but its queries.
   * A throw rolls back this unit only. When the connection breaks before the commit, `work` runs again from its start: `work` must be
   * repeatable.
   */
  unit<T>(work: (connection: Connection) => Promise<T>, options?: UnitOptions<T>): Promise<T>
}

export interface UnitOptions<T> {
  /** How long the unit is retried while the database is unreachable, in milliseconds. Default: as long as a caller waits. */
  retryForMs?: number
  /**
   * Called with the result when the transaction is committed, before the commit is durable; the promise may still reject. Never called by a
   * database whose commits are durable at once. Must not throw.
   */
  onCommitted?(result: T): void
}

/** Access that only a Postgres server offers. */
export interface PostgresServer {
  /** Opens a connection outside of the pool, as the login user: to listen, or to change the schema. The caller ends the connection. */
  connect(): Promise<pg.Client>
  /** Like `Database.all.write`, but never repeats a statement, for writes that must not come late. */
  readonly writeOnce: Connection
  /**
   * Like `Scope.write`, but never repeats a statement, for a statement about many rows: each row is looked up by an index, however large the
   * tables have become since the server planned the statement.
   */
  writeGroup(tenant: string): Connection
  /** From now on failed queries are repeated for a second at most: the process stops, and the server may be away. */
  shortenRetries(): void
}

/** Access that only a database in this process offers. */
export interface EmbeddedDatabase {
  /** Like `Scope.unit`, for work that runs all of its statements at once. */
  unit<T>(work: (connection: SyncConnection) => T, options?: UnitOptions<T>): Promise<T>
  /** Like `Scope.read`, without the wait until the commits that a read sees are durable. */
  readonly readCommitted: Connection
}

/** The connection was lost between a commit and its answer, and the outcome of the commit could not be determined. */
export class CommitUnknown extends ServiceError {
  constructor(cause: unknown) {
    super('store_unavailable', 'It is not known whether this was stored. Send it again with the same request id.', { cause })
    this.name = 'CommitUnknown'
  }
}

/** Compiles and runs a query. For rare queries; `statement` compiles frequent ones once. */
export function query<R>(connection: Connection, builder: Compilable<R>): Promise<Result<R>> {
  const { sql, parameters } = builder.compile()
  return connection.execute<R>(sql, parameters)
}
