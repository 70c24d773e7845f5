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

/** A placeholder in a query that is compiled once and run often. */
class Parameter {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

export type Statement<P, R> = (connection: Connection, values: P) => Promise<Result<R>>

/**
 * Compiles a Kysely query once, so that an execution only binds values. The rows have the type of the query.
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
