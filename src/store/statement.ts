import type { Compilable, CompiledQuery, Kysely } from 'kysely'
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

/** Stands for a value in a query that is compiled once and run often. */
class Parameter {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

export type Statement<P, R> = (connection: Connection, values: P) => Promise<Result<R>>

/**
 * Compiles a Kysely query once; what is left per run is a text and an array. `param('x')` takes the place of the value `x`.
 */
export function statement<P extends object, R>(
  db: Kysely<Tables>,
  build: (db: Kysely<Tables>, param: <K extends keyof P & string>(name: K) => P[K]) => Compilable<R>,
): Statement<P, R> {
  const compiled = build(db, (name) => new Parameter(name) as never).compile() as CompiledQuery
  const { sql, parameters } = compiled
  return (connection, values) =>
    connection.execute(
      sql,
      parameters.map((parameter) => (parameter instanceof Parameter ? values[parameter.name as keyof P] : parameter)),
    )
}
