import { isObject } from '../../json/is-object.ts'

/** The annotation of a parameter whose value a client repeats in the header `Mcp-Param-<name>` (MCP 2026-07-28, SEP-2243). */
const annotation = 'x-mcp-header'

/** RFC 9110, 5.6.2. */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

const annotatedTypes: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean'])

/** Keywords that hold one subschema or a list of them. A parameter below them need not be there, so it may have no header. */
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

/** Keywords that hold subschemas by name. */
const namedSchemaKeywords = ['patternProperties', 'dependentSchemas', '$defs', 'definitions']

/**
 * What is wrong with the header annotations of an input schema; undefined where nothing is. A client of Streamable HTTP must not use a tool
 * with a faulty annotation: a proxy that trusts the header would be shown another value than the server.
 */
export function headerFault(schema: unknown): string | undefined {
  return faultIn(schema, { path: [], isReachable: true, names: new Set() })
}

interface Position {
  path: readonly string[]
  /** Whether only `properties` lead here. */
  isReachable: boolean
  /** Header names of the schema so far, in lower case. */
  names: Set<string>
}

function faultIn(schema: unknown, at: Position): string | undefined {
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

function* childrenOf(schema: Record<string, unknown>, at: Position): Generator<[unknown, Position]> {
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

function annotationFault(schema: Record<string, unknown>, { path, isReachable, names }: Position): string | undefined {
  const name = schema[annotation]
  const place = path.length === 0 ? 'its input schema' : `its parameter ${path.join('.')}`
  if (!isReachable || path.length === 0) return `${place} has an ${annotation} where no header can stand for a value`
  if (typeof name !== 'string' || !token.test(name)) return `${place} has an ${annotation} that is no header name`
  if (!annotatedTypes.has(schema['type'])) return `${place} has an ${annotation}, but is not a string, an integer or a boolean`
  const key = name.toLowerCase()
  if (names.has(key)) return `${place} has the same ${annotation} as another parameter`
  names.add(key)
  return undefined
}
