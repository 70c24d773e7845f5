import type { Compilable, Kysely } from 'kysely'
import type { Tables } from './tables.ts'

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
export function paramsOf<K extends keyof P & string, P>(param: Param<P>, columns: Readonly<Record<K, unknown>>): { [C in K]: P[C] } {
  return mapColumns(columns, (name) => param(name)) as { [C in K]: P[C] }
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
}

/** Like `statement`, for `SyncConnection.rows`. */
export function syncRows<P extends object, R>(db: Kysely<Tables>, build: Build<P, R>): (connection: SyncConnection, values: P) => R[] {
  const bind = bindings(db, build)
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
  const bind = bindings(db, build)
  return (connection, values) => {
    const { sql, parameters } = bind(values)
    return connection.change(sql, parameters)
  }
}

function bindings<P extends object, R>(db: Kysely<Tables>, build: Build<P, R>): (values: P) => { sql: string; parameters: unknown[] } {
  let compiled: CompiledStatement | undefined
  return (values) => {
    compiled ??= compile(build(db, (name) => new Parameter(name) as never))
    const { sql, bind } = compiled
    return { sql, parameters: bind.map((valueFrom) => valueFrom(values)) }
  }
}

interface CompiledStatement {
  sql: string
  bind: ((values: object) => unknown)[]
}

function compile(query: Compilable): CompiledStatement {
  const { sql, parameters } = query.compile()
  return { sql, bind: parameters.map(toBinding) }
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

function toBinding(parameter: unknown): (values: object) => unknown {
  if (!(parameter instanceof Parameter)) return () => parameter
  const name = parameter.name as keyof object
  return (values) => values[name]
}
