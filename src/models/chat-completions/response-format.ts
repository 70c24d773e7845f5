import type { JsonSchema } from '../../agent/messages.ts'
import type { ModelRequest } from '../../agent/model.ts'
import type { ModelAbilities } from '../../configuration/model-abilities.ts'
import { isObject } from '../../json/shape.ts'
import { listed, named, nodesOf } from '../../json/schema/schema-nodes.ts'

/**
 * `response_format` of a request with a schema; undefined where the provider's form does not fit. A server that decodes by the schema calls no
 * tools then, so that such a server gets the form only in requests without tools.
 */
export function toResponseFormat(
  { responseSchema, tools }: Pick<ModelRequest, 'responseSchema' | 'tools'>,
  ability: ModelAbilities['structuredOutput'],
): object | undefined {
  // OpenAI and most servers accept only objects.
  if (!responseSchema || responseSchema['type'] !== 'object') return undefined
  if (ability === 'none' || (tools.length > 0 && ability !== 'with_tools')) return undefined
  const { $schema: _, ...schema } = responseSchema
  return { type: 'json_schema', json_schema: { name: 'answer', schema, strict: isStrict(schema) } }
}

/** The keywords that OpenAI, Azure and Mistral accept in strict mode. */
const strictKeywords = new Set([
  ...['type', 'properties', 'required', 'additionalProperties', 'items', 'enum', 'const', 'anyOf', '$ref', '$defs', 'definitions'],
  ...['title', 'description'],
])

/** Whether the provider can enforce the schema: every object names all of its properties, and requires each. */
export function isStrict(schema: JsonSchema): boolean {
  return nodesOf(schema).every(({ schema: inner }) => {
    if (!Object.keys(inner).every((keyword) => strictKeywords.has(keyword))) return false
    if (!('type' in inner || 'anyOf' in inner || '$ref' in inner || 'enum' in inner || 'const' in inner)) return false
    if (inner['type'] !== 'object') return !isObject(inner['properties'])
    const names = Object.keys(named(inner, 'properties'))
    const required = new Set(listed(inner, 'required'))
    return inner['additionalProperties'] === false && names.length > 0 && names.every((name) => required.has(name))
  })
}
