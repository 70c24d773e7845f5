import { AgentConfigSchema } from './schema.ts'
import { toolTypes } from './tool-types.ts'
import { isObject } from '../json/shape.ts'

/** A JSON Schema, from which the check and the redaction read the rules for the value under a key. */
export interface Schema {
  readonly [keyword: string]: unknown
}

export const agentSchema: Schema = { ...AgentConfigSchema }

const toolSchemas: ReadonlyMap<string, Schema> = new Map(Object.entries(toolTypes).map(([type, { config }]) => [type, { ...config }]))

export function findToolSchema(type: string): Schema | undefined {
  return toolSchemas.get(type)
}

/** The schemas by which agent.yaml is checked: of the file, and of the `config` of each tool type. */
export const configurationSchemas: ReadonlyMap<string, Schema> = new Map([['agent_yaml', agentSchema], ...toolSchemas])

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
    return [...(isObject(patternProperties) ? Object.values(patternProperties) : []), additionalProperties].filter(isObject)
  })
  return values.length > 0 && (isSecret(values) || holdsSecrets(values))
}

/** The schema in the form in which Ajv compiles it. */
export function toClosed(schema: Schema): Schema {
  const { $schema: _, ...closed } = closeRecords(schema) as Schema
  return closed
}

/** A copy in which objects with `patternProperties` allow no further keys. */
function closeRecords(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closeRecords)
  if (!isObject(schema)) return schema
  const copy = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, key === 'default' || key === 'enum' ? value : closeRecords(value)]),
  )
  return isObject(copy['patternProperties']) && !('additionalProperties' in copy) ? { ...copy, additionalProperties: false } : copy
}

function alternatives(schema: Schema): Schema[] {
  const inner = ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => {
    const choices = schema[keyword]
    return Array.isArray(choices) ? choices.filter(isObject) : []
  })
  return [schema, ...inner.flatMap(alternatives)]
}

function directlyUnder(schema: Schema, key: string | number): Schema[] {
  if (typeof key === 'number') return [schema['items']].filter(isObject)
  const properties = schema['properties']
  if (isObject(properties) && Object.hasOwn(properties, key)) return [properties[key]].filter(isObject)
  const patterns = isObject(schema['patternProperties']) ? Object.entries(schema['patternProperties']) : []
  const matching = patterns.filter(([pattern]) => new RegExp(pattern, 'u').test(key)).map(([, value]) => value)
  return (matching.length > 0 ? matching : [schema['additionalProperties']]).filter(isObject)
}

/** The JSON Schema document of agent.yaml. The schema of a tool's `config` depends on the tool's type. */
export function toJsonSchema(): Record<string, unknown> {
  const { properties, ...rest } = asWritten(AgentConfigSchema) as { properties: Record<string, Record<string, unknown>> }
  const { tools } = properties
  const defs = Object.fromEntries(Object.entries(toolTypes).map(([type, { config }]) => [`tool_${type}`, asWritten(config)]))
  const byType = Object.keys(toolTypes).flatMap((type) => {
    const fits = { properties: { config: { $ref: `#/$defs/tool_${type}` } } }
    return [
      // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema
      { if: { properties: { type: { const: type } }, required: ['type'] }, then: fits },
      // The name is the type of a tool without `type`.
      // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema
      { if: { properties: { name: { const: type } }, not: { required: ['type'] } }, then: fits },
    ]
  })
  const items = { ...(tools?.['items'] as object), allOf: byType }
  return { ...rest, properties: { ...properties, tools: { ...tools, items } }, $defs: defs }
}

/** Makes fields with a default optional: the original schema describes a configuration with all defaults filled in. */
function asWritten(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(asWritten)
  if (!isObject(schema)) return schema
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, key === 'default' ? value : asWritten(value)]))
  const { required, properties } = copy
  if (!Array.isArray(required) || !isObject(properties)) return copy
  const requiredNames = required.filter((name) => !(isObject(properties[name]) && 'default' in properties[name]))
  return { ...copy, required: requiredNames }
}
