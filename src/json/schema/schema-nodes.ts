import { isObject } from '../shape.ts'
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
  return isObject(value) ? value : {}
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
