import type { JsonSchema } from '../agent/messages.ts'
import { isObject } from '../json/shape.ts'
import { listed, named, nodesOf } from '../json/schema/schema-nodes.ts'

/** The keywords that OpenAI, Azure and Mistral accept in strict mode. */
const strictKeywords = new Set([
  ...['type', 'properties', 'required', 'additionalProperties', 'items', 'enum', 'const', 'anyOf', '$ref', '$defs', 'definitions'],
  ...['title', 'description'],
])

/** Whether a provider can enforce the schema: every object names all of its properties, and requires each. */
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
