import { isObject } from '../shape.ts'
import type { Schema } from './guarded-compiler.ts'
import { listed, named, referenceKeywords, type SchemaNode } from './schema-nodes.ts'

/** Two kinds of recursion that no value can satisfy, or that a validator would follow without end. */

type Resolve = (reference: string) => Schema | undefined

/** The first schema that leads back to itself without a step into the value, such as `{"$ref": "#"}`. */
export function findEndlessCheck(nodes: readonly SchemaNode[], resolve: Resolve): SchemaNode | undefined {
  const finished = new Set<Schema>()
  const open = new Set<Schema>()
  const returns = (schema: Schema): boolean => {
    if (open.has(schema)) return true
    if (finished.has(schema)) return false
    open.add(schema)
    const isCircle = sameValueSchemas(schema, resolve).some(returns)
    open.delete(schema)
    finished.add(schema)
    return isCircle
  }
  return nodes.find(({ schema }) => returns(schema))
}

/** The schemas that a validator applies to the same value. */
function sameValueSchemas(schema: Schema, resolve: Resolve): Schema[] {
  return [
    ...targetsOf(schema, resolve),
    ...['allOf', 'anyOf', 'oneOf'].flatMap((keyword) => listed(schema, keyword)),
    ...['not', 'if', 'then', 'else'].map((keyword) => schema[keyword]),
    ...['dependentSchemas', 'dependencies'].flatMap((keyword) => Object.values(named(schema, keyword))),
  ].filter(isObject)
}

function targetsOf(schema: Schema, resolve: Resolve): (Schema | undefined)[] {
  return referenceKeywords.flatMap((keyword) => {
    const reference = schema[keyword]
    return typeof reference === 'string' ? [resolve(reference)] : []
  })
}

/**
 * True when some finite value can satisfy the schema, as far as required properties, items and references decide. `{"required": ["next"]}`
 * with `next` of the same schema has no such value.
 */
export function hasFiniteValue(root: Schema, nodes: readonly SchemaNode[], resolve: Resolve): boolean {
  const finite = new Set<Schema>()
  const isFinite = (inner: unknown) => !isObject(inner) || finite.has(inner)
  for (let before = -1; before !== finite.size;) {
    before = finite.size
    for (const { schema } of nodes) if (!finite.has(schema) && canEnd(schema, resolve, isFinite)) finite.add(schema)
  }
  return finite.has(root)
}

function canEnd(schema: Schema, resolve: Resolve, isFinite: (inner: unknown) => boolean): boolean {
  if ('const' in schema || 'enum' in schema) return true
  if (!targetsOf(schema, resolve).every(isFinite)) return false
  if (!listed(schema, 'allOf').every(isFinite)) return false
  const choices = ['anyOf', 'oneOf'].map((keyword) => listed(schema, keyword))
  if (choices.some((list) => list.length > 0 && !list.some(isFinite))) return false
  return neededParts(schema).every(isFinite)
}

/** The schemas of parts that each value must have. */
function neededParts(schema: Schema): unknown[] {
  const { type } = schema
  const isOnly = (name: string) => type === name || (Array.isArray(type) && type.length === 1 && type[0] === name)
  if (isOnly('object')) {
    const properties = named(schema, 'properties')
    const others = Object.keys(named(schema, 'patternProperties')).length > 0 ? undefined : schema['additionalProperties']
    return listed(schema, 'required').map((name) => (Object.hasOwn(properties, String(name)) ? properties[String(name)] : others))
  }
  if (isOnly('array')) {
    const count = Number(schema['minItems'] ?? 0)
    const first = [...listed(schema, 'prefixItems'), ...listed(schema, 'items')]
    return count > first.length ? [...first, schema['items']] : first.slice(0, count)
  }
  return []
}
