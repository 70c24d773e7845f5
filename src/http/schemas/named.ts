import { Type, type TObject, type TProperties, type TSchema } from 'typebox'

const schemas = new Map<string, TSchema>()

/** Gives a schema a name in the OpenAPI document: a generated client gets a type of this name. */
export function named<T extends TSchema>(name: string, schema: T): T {
  if (schemas.has(name)) throw new Error(`Two schemas are called ${name}.`)
  schemas.set(name, schema)
  return schema
}

/** A named schema of an object, with a description before its fields if there is one. */
export function namedObject<T extends TProperties>(name: string, fields: T): TObject<T>
export function namedObject<T extends TProperties>(name: string, description: string, fields: T): TObject<T>
export function namedObject<T extends TProperties>(name: string, ...[text, fields]: [T] | [string, T]): TObject<T> {
  return named(name, typeof text === 'string' ? Type.Object(fields!, { description: text }) : Type.Object(text))
}

/** The schemas that have a name, in the order of their names. */
export function namedSchemas(): Record<string, TSchema> {
  return Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The schema of an object with a description. */
export function object<T extends TProperties>(description: string, fields: T): TObject<T> {
  return Type.Object(fields, { description })
}

/** The schema of an object that has no other fields. */
export function closed<T extends TProperties>(fields: T): TObject<T> {
  return Type.Object(fields, { additionalProperties: false })
}
