import type { TSchema } from 'typebox'

/** A request body that works as it stands on the sample agent. */
export interface RequestExample {
  summary: string
  value: unknown
}

/** What the OpenAPI document says about an operation beside its schemas. */
export interface OperationText {
  /** Markdown: what the operation does, when to use it, what can go wrong. It follows the description of the route. */
  description: string
  /** Example values of parameters, by name. They replace those of `parameters.ts`. */
  parameters?: Record<string, unknown>
  /** Parameters whose example "Try it out" fills in although they are optional. */
  prefilled?: readonly string[]
  /** Examples of the body by media type and name. "Try it out" sends the first one. */
  requests?: Record<string, Record<string, RequestExample>>
}

declare module 'fastify' {
  interface FastifySchema {
    /** Read when the document is asked for: texts and examples cost the start nothing. */
    details?: () => OperationText
  }
}

const schemas = new Map<string, TSchema>()

/** Gives a schema a name in the OpenAPI document: a generated client gets a type of this name. */
export function named<T extends TSchema>(name: string, schema: T): T {
  if (schemas.has(name)) throw new Error(`Two schemas are called ${name}.`)
  schemas.set(name, schema)
  return schema
}

/** The schemas that have a name, in the order of their names. */
export function namedSchemas(): Record<string, TSchema> {
  return Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1)))
}
