import { isObject, fieldsOf } from '../shape.ts'
import type { Schema } from './guarded-compiler.ts'

/** The path to a part of a schema, such as `['properties', 'price', 'type']`. */
export type SchemaPath = (string | number)[]

/** A schema, or a schema inside of it. Schemas that are `true` or `false` are left out. */
export interface SchemaNode {
  path: SchemaPath
  schema: Schema
}

/** Keywords whose value is a schema. `items` and `dependencies` may also hold several. */
const withSchema = [
  'additionalItems',
  'additionalProperties',
  'contains',
  'contentSchema',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]
const withList = ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items']
const withNames = ['$defs', 'definitions', 'dependentSchemas', 'dependencies', 'patternProperties', 'properties']

/** All schemas of a schema, the schema itself first. Values that only look like schemas, as in `enum` and `default`, are left out. */
export function nodesOf(schema: Schema): SchemaNode[] {
  const nodes: SchemaNode[] = [{ path: [], schema }]
  for (const node of nodes) nodes.push(...innerNodes(node))
  return nodes
}

function innerNodes({ path, schema }: SchemaNode): SchemaNode[] {
  return [
    ...withSchema.map((keyword) => [[keyword], schema[keyword]] as const),
    ...withList.flatMap((keyword) => listed(schema, keyword).map((value, index) => [[keyword, index], value] as const)),
    ...withNames.flatMap((keyword) => Object.entries(named(schema, keyword)).map(([name, value]) => [[keyword, name], value] as const)),
  ].flatMap(([steps, value]) => (isObject(value) ? [{ path: [...path, ...steps], schema: value }] : []))
}

/** The list under a keyword; empty for anything else. */
export function listed(schema: Schema, keyword: string): readonly unknown[] {
  const value = schema[keyword]
  return Array.isArray(value) ? value : []
}

/** The mapping under a keyword; empty for anything else. */
export function named(schema: Schema, keyword: string): Readonly<Record<string, unknown>> {
  const value = schema[keyword]
  return fieldsOf(value)
}

export const referenceKeywords = ['$ref', '$dynamicRef', '$recursiveRef'] as const

/** Finds the schema to which a reference inside of the document points: `#`, `#/$defs/name` or `#anchor`. */
export function createResolve(nodes: readonly SchemaNode[]): (reference: string) => Schema | undefined {
  const byPointer = new Map(nodes.map(({ path, schema }) => [toPointer(path), schema]))
  const byAnchor = new Map(
    nodes.flatMap(({ schema }) => {
      const names = [schema['$anchor'], schema['$dynamicAnchor'], toAnchor(schema['$id'])].filter((name) => typeof name === 'string')
      return names.map((name) => [name, schema] as const)
    }),
  )
  return (reference) => {
    const fragment = decode(reference.slice(1))
    return fragment === '' || fragment.startsWith('/') ? byPointer.get(fragment) : byAnchor.get(fragment)
  }
}

/** RFC 6901. */
function toPointer(path: SchemaPath): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** Draft-07 names an anchor as `$id: "#name"`. */
function toAnchor(id: unknown): string | undefined {
  return typeof id === 'string' && id.startsWith('#') ? id.slice(1) : undefined
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

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
