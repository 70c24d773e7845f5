import { AgentConfigSchema } from './schema.ts'
import { toolTypes } from './tool-types.ts'

/** A JSON Schema, from which the check and the redaction read the rules for the value under a key. */
export interface Schema {
  readonly [keyword: string]: unknown
}

export const agentSchema: Schema = { ...AgentConfigSchema }

const toolSchemas: ReadonlyMap<string, Schema> = new Map(Object.entries(toolTypes).map(([type, { config }]) => [type, { ...config }]))

export function findToolSchema(type: string): Schema | undefined {
  return toolSchemas.get(type)
}

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** All schemas that may apply to the value under `key` (a property name or an index), including alternatives. */
export function schemasUnder(schemas: readonly Schema[], key: string | number): Schema[] {
  return schemas.flatMap(alternatives).flatMap((schema) => directlyUnder(schema, key))
}

/** True if a schema, or an alternative of a schema, is marked as a secret. */
export function isSecret(schemas: readonly Schema[]): boolean {
  return schemas.some((schema) => alternatives(schema).some(({ writeOnly }) => writeOnly === true))
}

/** True if all values of a mapping are secret, for any key. */
export function holdsSecrets(schemas: readonly Schema[]): boolean {
  const values = schemas.flatMap(alternatives).flatMap(({ patternProperties, additionalProperties }) => {
    return [...(isSchema(patternProperties) ? Object.values(patternProperties) : []), additionalProperties].filter(isSchema)
  })
  return values.length > 0 && (isSecret(values) || holdsSecrets(values))
}

/** A copy in which objects with `patternProperties` allow no further keys. */
export function closeRecords(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closeRecords)
  if (!isSchema(schema)) return schema
  const copy = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, key === 'default' || key === 'enum' ? value : closeRecords(value)]),
  )
  return isSchema(copy['patternProperties']) && !('additionalProperties' in copy) ? { ...copy, additionalProperties: false } : copy
}

function alternatives(schema: Schema): Schema[] {
  const inner = ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => {
    const choices = schema[keyword]
    return Array.isArray(choices) ? choices.filter(isSchema) : []
  })
  return [schema, ...inner.flatMap(alternatives)]
}

function directlyUnder(schema: Schema, key: string | number): Schema[] {
  if (typeof key === 'number') return [schema['items']].filter(isSchema)
  const properties = schema['properties']
  if (isSchema(properties) && Object.hasOwn(properties, key)) return [properties[key]].filter(isSchema)
  const patterns = isSchema(schema['patternProperties']) ? Object.entries(schema['patternProperties']) : []
  const matching = patterns.filter(([pattern]) => new RegExp(pattern, 'u').test(key)).map(([, value]) => value)
  return (matching.length > 0 ? matching : [schema['additionalProperties']]).filter(isSchema)
}
