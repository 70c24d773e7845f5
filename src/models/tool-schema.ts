import type { JsonSchema } from '../agent/messages.ts'
import { isObject } from '../json/shape.ts'
import { createResolve, listed, named, nodesOf, type SchemaNode } from '../json/schema/schema-nodes.ts'

/** Lists of schemas that OpenAI and Claude refuse at the top of the schema of a tool. */
const combiners = ['allOf', 'anyOf', 'oneOf'] as const
/** Further keywords that are refused there, or of use to nobody. */
const refusedAtTop = [...combiners, 'enum', 'const', 'not', 'if', 'then', 'else', '$ref', '$schema']
/** Combined schemas that are looked at. A schema may lead to itself, many times. */
const maxParts = 500

/** Results of `toToolSchema`. */
export const toolSchemas = new WeakMap<JsonSchema, JsonSchema>()

/**
 * The schema of a tool in the form that every provider accepts: an object at the top, whose properties are those of all alternatives, and
 * arrays with a schema of their items. The form may accept more than the schema, so the input of each call is checked by the schema itself.
 */
export function toToolSchema(schema: JsonSchema): JsonSchema {
  let fit = toolSchemas.get(schema)
  if (!fit) toolSchemas.set(schema, (fit = withItems(toObject(schema))))
  return fit
}

function toObject(schema: JsonSchema): JsonSchema {
  const { properties, required } = merge(schema, { resolve: createResolve(nodesOf(schema)), partsLeft: maxParts })
  const rest = Object.fromEntries(Object.entries(schema).filter(([keyword]) => !refusedAtTop.includes(keyword)))
  const alternatives = describeAlternatives(schema)
  const description = [schema['description'], alternatives].filter((text) => typeof text === 'string').join(' ')
  return {
    ...rest,
    ...(alternatives !== undefined && { description }),
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
  }
}

interface Merged {
  properties: Record<string, unknown>
  /** The properties that every alternative requires. */
  required: string[]
}

interface Document {
  resolve(reference: string): JsonSchema | undefined
  partsLeft: number
}

function merge(schema: JsonSchema, document: Document): Merged {
  const { $ref: reference } = schema
  const target = typeof reference === 'string' && reference.startsWith('#') ? document.resolve(reference) : undefined
  const inner = (list: readonly unknown[]) =>
    list.filter((part) => isObject(part) && document.partsLeft-- > 0).map((part) => merge(part as JsonSchema, document))
  const all = inner([...(target ? [target] : []), ...listed(schema, 'allOf')])
  const choices = [inner(listed(schema, 'anyOf')), inner(listed(schema, 'oneOf'))]
  const requiredNames = listed(schema, 'required').filter((name) => typeof name === 'string')
  const common = choices.flatMap(([first, ...others]) => {
    return (first?.required ?? []).filter((name) => others.every(({ required }) => required.includes(name)))
  })
  // The schema's own properties take precedence.
  const parts = [...all, ...choices.flat()].map(({ properties }) => properties)
  const properties = Object.assign({}, ...parts.toReversed(), named(schema, 'properties')) as Record<string, unknown>
  return { properties, required: [...new Set([...requiredNames, ...all.flatMap(({ required }) => required), ...common])] }
}

/** Tells which properties belong together; undefined where the alternatives require nothing. */
function describeAlternatives(schema: JsonSchema): string | undefined {
  const sets = [...listed(schema, 'anyOf'), ...listed(schema, 'oneOf')].filter(isObject).map((part) => listed(part, 'required').join(', '))
  return sets.some((set) => set !== '') ? `Needs one of: ${sets.map((set) => set || 'nothing').join('; ')}.` : undefined
}

/** The same schema where every array tells its items. */
function withItems(schema: JsonSchema): JsonSchema {
  if (!nodesOf(schema).some(isWithoutItems)) return schema
  const copy = structuredClone(schema)
  for (const { schema: inner } of nodesOf(copy).filter(isWithoutItems)) {
    const { items } = inner
    Object.assign(inner, { items: Array.isArray(items) && items.length > 0 ? { anyOf: items } : {} })
  }
  return copy
}

function isWithoutItems({ schema: { type, items } }: SchemaNode): boolean {
  return Array.isArray(items) || (items === undefined && (type === 'array' || (Array.isArray(type) && type.includes('array'))))
}

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
