import type { Compilable, CompiledQuery, Kysely } from 'kysely'
import type pg from 'pg'
import type { Act, Acting, LedgerRules } from '../audit/acts.ts'
import type { AuditEvent } from '../audit/event.ts'
import { ServiceError } from '../errors.ts'
import type { Tables } from './tables.ts'
import type { Job, JobKind, NewJob } from '../runs/jobs.ts'

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
  /** Records who did what, within units of work. */
  readonly ledger: Ledger
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
  /**
   * True: the transaction needs no sync of the disk. The end of the process does not undo the transaction, a loss of power may. Reads still wait
   * for a sync before they return what the transaction has written. Ignored by a database whose commits are durable at once.
   */
  isRepeatable?: true
}

/** The ledger: records acts within the units of work that make the changes. */
export interface Ledger {
  /** Stores an event for each act. Nothing is recorded where nobody acts, or the ledger is off. */
  record(connection: Connection, tenant: string, acting: Acting | undefined, acts: Act | readonly Act[]): Promise<void>
  /** Stores events that were made above the store, which has asked whether the ledger is on. */
  store(connection: Connection, tenant: string, events: readonly AuditEvent[]): Promise<void>
  /** From now on `rules` decide. Without rules, acts are recorded without a version. */
  follow(rules: Partial<LedgerRules>): void
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

/** A connection, or a transaction on a connection. Parameters are bound, never part of the SQL text. */
export interface Connection {
  execute<R>(sql: string, parameters: readonly unknown[]): Promise<Result<R>>
}

export interface Result<R> {
  rows: R[]
  /** Rows inserted, updated or deleted. */
  changes: number
}

/** Makes placeholders of a query that is compiled once: `param('x')` stands for the value `x` of `P`. */
export interface Param<P> {
  <K extends keyof P & string>(name: K): P[K]
}

/** An object with the same names, and a value made of each. */
export function mapColumns<K extends string, V, R>(columns: Readonly<Record<K, V>>, toValue: (name: K, value: V) => R): Record<K, R> {
  const entries = Object.entries(columns) as [K, V][]
  return Object.fromEntries(entries.map(([name, value]) => [name, toValue(name, value)])) as Record<K, R>
}

/** A placeholder for each of the columns. */
export function paramsOf<K extends keyof P & string, P>(
  param: Param<P>,
  columns: readonly K[] | Readonly<Record<K, unknown>>,
): { [C in K]: P[C] } {
  const names = (Array.isArray(columns) ? columns : Object.keys(columns)) as K[]
  return Object.fromEntries(names.map((name) => [name, param(name)])) as { [C in K]: P[C] }
}

/** A placeholder in a query that is compiled once and run often. */
class Parameter {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

export type Statement<P, R> = (connection: Connection, values: P) => Promise<Result<R>>

type Build<P, R> = (db: Kysely<Tables>, param: Param<P>) => Compilable<R>

/**
 * Compiles a Kysely query at its first execution, so that each further execution only binds values. The rows have the type of the query.
 */
export function statement<P extends object, R>(db: Kysely<Tables>, build: Build<P, R>): Statement<P, R> {
  const bind = bindings(db, build)
  return (connection, values) => {
    const { sql, parameters } = bind(values)
    return connection.execute(sql, parameters)
  }
}

/** The writing connection of a database in this process, within a unit of work. */
export interface SyncConnection {
  rows<R>(sql: string, parameters: readonly unknown[]): R[]
  /** Executes a statement without `returning`, and returns the number of changed rows. `returning` costs as much as the insert of a row. */
  change(sql: string, parameters: readonly unknown[]): number
  /** Defers changes of the open transaction to its end, or to its next statement by `execute`. */
  defer(changes: Deferred): void
}

/** Changes that the statements of many units add up. */
export interface Deferred {
  write(): void
  /** Called after `write`, and instead of `write` when the transaction is rolled back. */
  forget(): void
}

/** Like `statement`, for `SyncConnection.rows`. */
export function syncRows<P extends object, R>(db: Kysely<Tables>, build: Build<P, R>): (connection: SyncConnection, values: P) => R[] {
  const bind = bindings(db, build, [])
  return (connection, values) => {
    const { sql, parameters } = bind(values)
    return connection.rows<R>(sql, parameters)
  }
}

/** Like `statement`, for `SyncConnection.change`. */
export function syncChange<P extends object>(
  db: Kysely<Tables>,
  build: Build<P, unknown>,
): (connection: SyncConnection, values: P) => number {
  const bind = bindings(db, build, [])
  return (connection, values) => {
    const { sql, parameters } = bind(values)
    return connection.change(sql, parameters)
  }
}

/** `shared` has the values of each execution in turn, for connections that read the values at once; by default an execution has its own list. */
function bindings<P extends object, R>(
  db: Kysely<Tables>,
  build: Build<P, R>,
  shared?: unknown[],
): (values: P) => { sql: string; parameters: unknown[] } {
  let compiled: Pick<CompiledQuery, 'sql' | 'parameters'> | undefined
  return (values) => {
    compiled ??= build(db, (name) => new Parameter(name) as never).compile()
    const { sql, parameters } = compiled
    const bound = shared ?? []
    for (let at = 0; at < parameters.length; at++) {
      const value = parameters[at]
      bound[at] = value instanceof Parameter ? values[value.name as keyof P] : value
    }
    return { sql, parameters: bound }
  }
}

/**
 * Waits until all queries have settled, then resolves to their results or rejects with the first error. On Postgres the queries share one
 * round trip. `Promise.all` would reject earlier, while other queries of the unit are still running.
 */
export async function allSettledOrThrow<const T extends readonly (Promise<unknown> | undefined)[]>(pending: T): Promise<AwaitedAll<T>> {
  const all = pending.map((query) => Promise.resolve(query))
  await Promise.allSettled(all)
  return Promise.all(all) as Promise<AwaitedAll<T>>
}

type AwaitedAll<T extends readonly unknown[]> = { -readonly [I in keyof T]: Awaited<T[I]> }

/** Port: the durable queue of jobs. */
export interface JobStore {
  /** Lease in milliseconds: a claimed job that is not renewed within the lease may be claimed again. */
  readonly leaseMs: number
  /** Adds jobs within a unit of work. A job with an existing id is skipped. */
  insert(connection: Connection, jobs: readonly NewJob[]): Promise<void>
  table(options: { now(): number }): JobTable
  /** Counts waiting and active jobs of all processes by kind. The numbers are a few seconds old. */
  count(): Promise<{ kind: string; count: number }[]>
  /** Counts the jobs by kind and state. `running`: the jobs that this process runs, by kind. */
  states(options: { now: number; running: ReadonlyMap<string, number> }): Promise<JobStates[]>
  /** Returns jobs of dead processes to the queue, and returns the kinds with jobs that are due before the next call. Called every `maintainMs`. */
  maintain?(): Promise<JobKind[]>
}

/** Milliseconds between calls of `maintain`. */
export const maintainMs = 3000

/** Numbers of jobs of a kind. */
export interface JobStates {
  kind: string
  /** Wait for a worker now, or for a time. */
  due: number
  scheduled: number
  running: number
  /** Have failed, and wait for the next try, or were given up. */
  failed: number
}

/** The operations of a worker. A claim holds a job for one lease, and `renew` extends the lease. */
export interface JobTable {
  /** Claims up to `limit` due jobs. Concurrent claims never get the same job. */
  claim(kind: JobKind, limit: number): Promise<Claim>
  /** Milliseconds until the next job is due; undefined if `maintain` finds the job in time. Absent where each claim tells. */
  nextMs?(kind: JobKind): Promise<number | undefined>
  /** Renews the leases. Returns the jobs that another worker has claimed since. */
  renew(jobs: readonly Job[]): Promise<Job[]>
  /** Makes the job due at `dueAt`. `wantedAt` restarts the day after which a failing job is given up. */
  requeue(job: Job, dueAt: number, wantedAt: number): Promise<void>
  remove(job: Job): Promise<void>
  /** Ends a job that failed for too long: no worker claims the job again. */
  giveUp(job: Job): Promise<void>
}

export interface Claim {
  claimed: ClaimedJob[]
  /** Milliseconds from now until the next job may be due; undefined: unknown. */
  nextMs: number | undefined
}

export interface ClaimedJob {
  job: Job
  /** First due time, or that of the last requeue, in epoch milliseconds. */
  wantedAt: number
}
