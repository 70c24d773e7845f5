import type { Compilable, Kysely } from 'kysely'
import type pg from 'pg'
import { ServiceError } from '../errors.ts'
import type { JobStore } from './jobs/table.ts'
import type { Connection, Result } from './statement.ts'
import type { Tables } from './tables.ts'

/** A place that keeps things: SQLite in this process, or Postgres. */
export interface Database {
  /** Builds queries. */
  readonly db: Kysely<Tables>
  /** Whether other processes may use it too. */
  readonly isShared: boolean
  /** Names of the migrations that opening it took. */
  readonly migrated: readonly string[]
  /** Reads and writes one tenant's rows alone: on Postgres its row-level security shows and takes no others, whatever a query asks for. */
  forTenant(tenant: string): Scope
  /** Those of all tenants: for what serves all of them (sweeps, jobs, keys). */
  readonly all: Scope
  /** Where jobs are kept. */
  readonly jobs: JobStore
  /** Present where it is a Postgres server. */
  readonly postgres?: PostgresServer
  /** Throws when the database can't be reached. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** What a tenant may read and write, or everybody. */
export interface Scope {
  /** For reads; sees what is committed. Asked again where the connection breaks: never for what changes anything. */
  readonly read: Connection
  /**
   * For a single statement that is a unit of work: durable when it answers. Rejects with `CommitUnknown` where the connection breaks before
   * that: whoever needs to know looks for what it stored.
   */
  readonly write: Connection
  /**
   * Runs a unit of work in a transaction and answers once it is durable. The unit awaits nothing but its queries.
   * A throw rolls back this unit alone. Where the connection breaks it runs again from its start, unless it was stored: it must bear that.
   */
  unit<T>(work: (connection: Connection) => Promise<T>, options?: UnitOptions): Promise<T>
}

export interface UnitOptions {
  /** How long a database that is away is waited for; as long as a caller waits, if nothing else is said. */
  retryForMs?: number
}

/** What only Postgres has. */
export interface PostgresServer {
  /** A connection beside the pool, as the user of the address: to listen, to change the schema. Whoever asked for it ends it. */
  connect(): Promise<pg.Client>
}

/** The connection was lost between a commit and its answer, and what became of it could not be found out. */
export class CommitUnknown extends ServiceError {
  constructor(cause: unknown) {
    super('store_unavailable', 'It is not known whether this was stored. Send it again with the same request id.', { cause, retryAfter: 5 })
    this.name = 'CommitUnknown'
  }
}

/** Runs a query that is built anew each time; for what is asked seldom. */
export function query<R>(connection: Connection, builder: Compilable<R>): Promise<Result<R>> {
  const { sql, parameters } = builder.compile()
  return connection.execute<R>(sql, parameters)
}
