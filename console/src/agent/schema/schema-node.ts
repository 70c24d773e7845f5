/** The parts of JSON Schema (2020-12) that the schema of agent.yaml uses. */
export interface SchemaNode {
  type?: string
  description?: string
  default?: unknown
  enum?: unknown[]
  const?: unknown
  properties?: Record<string, SchemaNode>
  patternProperties?: Record<string, SchemaNode>
  additionalProperties?: boolean
  required?: string[]
  items?: SchemaNode
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  minProperties?: number
  maxProperties?: number
  pattern?: string
  /** Marks a secret. */
  writeOnly?: boolean
  allOf?: SchemaNode[]
  if?: SchemaNode
  then?: SchemaNode
  not?: SchemaNode
  $ref?: string
  $defs?: Record<string, SchemaNode>
}

/** Keys and list indexes from the root to a value. */
export type Path = readonly (string | number)[]

/** All schemas that apply to a value: the schema itself, and the conditional schemas whose condition the value meets. */
export function schemasFor(schema: SchemaNode, value: unknown, root: SchemaNode): SchemaNode[] {
  const node = resolve(schema, root)
  const parts = node.allOf ?? []
  return [
    node,
    ...parts.flatMap((part) => {
      if (part.if === undefined) return schemasFor(part, value, root)
      return part.then && meets(part.if, value) ? schemasFor(part.then, value, root) : []
    }),
  ]
}

/** Schemas of the value below a key or index. `schemas` apply to the parent, `value` is the child. */
export function schemasBelow(schemas: readonly SchemaNode[], part: string | number, value: unknown, root: SchemaNode): SchemaNode[] {
  return schemas.flatMap((schema) => childrenOf(schema, part)).flatMap((schema) => schemasFor(schema, value, root))
}

/** Schemas of the value at a path of `data`. */
export function schemasAt(root: SchemaNode, data: unknown, path: Path): SchemaNode[] {
  let value = data
  let schemas = schemasFor(root, value, root)
  for (const part of path) {
    value = valueBelow(value, part)
    schemas = schemasBelow(schemas, part, value, root)
  }
  return schemas
}

function childrenOf(schema: SchemaNode, part: string | number): SchemaNode[] {
  if (typeof part === 'number') return schema.items ? [schema.items] : []
  const { properties = {}, patternProperties = {} } = schema
  if (Object.hasOwn(properties, part)) return [properties[part]!]
  return Object.entries(patternProperties).flatMap(([pattern, child]) => (new RegExp(pattern, 'u').test(part) ? [child] : []))
}

function resolve(schema: SchemaNode, root: SchemaNode): SchemaNode {
  const name = /^#\/\$defs\/(.+)$/.exec(schema.$ref ?? '')?.[1]
  const target = name !== undefined && root.$defs && Object.hasOwn(root.$defs, name) ? root.$defs[name] : undefined
  return target ?? schema
}

/** True if a value meets a condition made of `properties` with constants, `required` and `not`. */
function meets({ properties = {}, required = [], not }: SchemaNode, value: unknown): boolean {
  const has = (name: string): boolean => valueBelow(value, name) !== undefined
  if (not && meets(not, value)) return false
  return required.every(has) && Object.entries(properties).every(([name, child]) => !has(name) || child.const === valueBelow(value, name))
}

function valueBelow(value: unknown, part: string | number): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
  return (value as Record<string | number, unknown>)[part]
}
