import type { Compilable, Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** One connection, or one transaction on it. Parameters are bound, never part of the text. */
export interface Connection {
  execute<R>(sql: string, parameters: readonly unknown[]): Promise<Result<R>>
}

export interface Result<R> {
  rows: R[]
  /** Rows inserted, updated or deleted. */
  changes: number
}

/** Gives a query that is compiled once its values: `param('x')` stands for the value `x` of `P`. */
export interface Param<P> {
  <K extends keyof P & string>(name: K): P[K]
}

/** Stands for a value in a query that is compiled once and run often. */
class Parameter {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

export type Statement<P, R> = (connection: Connection, values: P) => Promise<Result<R>>

/**
 * Compiles a Kysely query once; what is left per run is a text and an array. The shape of its rows is that of the query.
 */
export function statement<P extends object, R>(
  db: Kysely<Tables>,
  build: (db: Kysely<Tables>, param: Param<P>) => Compilable<R>,
): Statement<P, R> {
  const { sql, parameters } = build(db, (name) => new Parameter(name) as never).compile()
  const bind = parameters.map(toBinding)
  return (connection, values) =>
    connection.execute(
      sql,
      bind.map((valueFrom) => valueFrom(values)),
    )
}

/**
 * Waits for all of what was asked in one go, on Postgres for the time of a single answer. Nothing of a unit goes on behind its end: where one
 * fails, this rejects when the others have their answer too.
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
