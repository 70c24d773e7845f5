import { AgentConfigSchema, toolConfigs } from './schema.ts'

/** The schema of agent.yaml as a document of its own, in which the `config` of a tool follows from its type. */
export function toJsonSchema(): Record<string, unknown> {
  const { properties, ...rest } = structuredClone(AgentConfigSchema) as unknown as { properties: Record<string, Record<string, unknown>> }
  const { tools } = properties
  const defs = Object.fromEntries(Object.entries(toolConfigs).map(([type, schema]) => [`tool_${type}`, structuredClone(schema)]))
  const byType = Object.keys(toolConfigs).flatMap((type) => {
    const fits = { properties: { config: { $ref: `#/$defs/tool_${type}` } } }
    return [
      // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema
      { if: { properties: { type: { const: type } }, required: ['type'] }, then: fits },
      // The type is the name where it is not given.
      // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema
      { if: { properties: { name: { const: type } }, not: { required: ['type'] } }, then: fits },
    ]
  })
  const items = { ...(tools?.['items'] as object), allOf: byType }
  return { ...rest, properties: { ...properties, tools: { ...tools, items } }, $defs: defs }
}
