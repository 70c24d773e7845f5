import { AgentConfigSchema } from './schema.ts'
import { toolTypes } from './tool-types.ts'
import { isObject } from '../json/shape.ts'

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
