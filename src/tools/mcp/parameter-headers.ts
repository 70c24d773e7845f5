import { isObject } from '../../json/shape.ts'

/** Annotation of a parameter; clients repeat the value in the header `Mcp-Param-<name>` (MCP 2026-07-28, SEP-2243). */
const annotation = 'x-mcp-header'

/** RFC 9110, 5.6.2. */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

const annotatedTypes: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean'])

/** Keywords with a subschema or a list of subschemas. A parameter below such a keyword may be absent, so no annotation is allowed there. */
const schemaKeywords = [
  'items',
  'prefixItems',
  'contains',
  'additionalProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'propertyNames',
  'oneOf',
  'anyOf',
  'allOf',
  'not',
  'if',
  'then',
  'else',
]

/** Keywords with subschemas by name. */
const namedSchemaKeywords = ['patternProperties', 'dependentSchemas', '$defs', 'definitions']

/**
 * The fault in the header annotations of an input schema; undefined when all are valid. A Streamable HTTP client must not use a tool
 * with a faulty annotation: a proxy that trusts the header could see a different value than the server.
 */
export function headerFault(schema: unknown): string | undefined {
  return faultIn(schema, { path: [], isReachable: true, names: new Set() })
}

interface SchemaPosition {
  path: readonly string[]
  /** True when the path consists of `properties` only. */
  isReachable: boolean
  /** Header names found so far, in lower case. */
  names: Set<string>
}

function faultIn(schema: unknown, at: SchemaPosition): string | undefined {
  if (!isObject(schema)) return undefined
  if (Object.hasOwn(schema, annotation)) {
    const fault = annotationFault(schema, at)
    if (fault !== undefined) return fault
  }
  for (const [child, position] of childrenOf(schema, at)) {
    const fault = faultIn(child, position)
    if (fault !== undefined) return fault
  }
  return undefined
}

function* childrenOf(schema: Record<string, unknown>, at: SchemaPosition): Generator<[unknown, SchemaPosition]> {
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  for (const [name, child] of Object.entries(properties)) yield [child, { ...at, path: [...at.path, name] }]
  const below = { ...at, isReachable: false }
  for (const keyword of schemaKeywords) {
    const value = schema[keyword]
    for (const child of Array.isArray(value) ? value : [value]) yield [child, below]
  }
  for (const keyword of namedSchemaKeywords) {
    const value = schema[keyword]
    if (isObject(value)) for (const child of Object.values(value)) yield [child, below]
  }
}

function annotationFault(schema: Record<string, unknown>, { path, isReachable, names }: SchemaPosition): string | undefined {
  const name = schema[annotation]
  const subject = path.length === 0 ? 'its input schema' : `its parameter ${path.join('.')}`
  if (!isReachable || path.length === 0) return `${subject} has an ${annotation} where no header is possible`
  if (typeof name !== 'string' || !token.test(name)) return `${subject} has an ${annotation} that is not a valid header name`
  if (!annotatedTypes.has(schema['type'])) return `${subject} has an ${annotation}, but is not a string, an integer or a boolean`
  const key = name.toLowerCase()
  if (names.has(key)) return `${subject} has the same ${annotation} as another parameter`
  names.add(key)
  return undefined
}
