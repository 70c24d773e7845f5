import { hash } from 'node:crypto'
import type { Tool as ListedTool } from '@modelcontextprotocol/client'
import type { JsonSchema } from '../../agent/messages.ts'
import { toStableJson } from '../../configuration/parse.ts'
import { messageOf } from '../../errors.ts'
import { createGuardedCompiler, type GuardedCheck, SchemaTimeout } from '../../json/schema/guarded-compiler.ts'
import { isDeeper, isObject, fieldsOf } from '../../json/shape.ts'
import { describeSchemaError } from '../builder.ts'
import { toLine, toPlain } from '../plain-text.ts'
import { limits } from './server.ts'

/** A tool listed by a server, after validation. */
export interface ServerTool {
  name: string
  description: string
  schema: JsonSchema
  check(input: unknown): string | undefined
  /** The server declares the tool as read-only (`readOnlyHint`). */
  readsOnly: boolean
  /** The server declares that calls reach nothing outside (`openWorldHint` false). */
  closedWorld?: true
  /** The listing of the server; parts are sent back with a call. */
  listed: ListedTool
  /** Hash of the description, schema, annotations and execution of the listing: 16 hex digits. */
  hash: string
  /** The reason why the tool is listed but cannot be used. */
  fault?: string
}

interface ServerToolOptions {
  makeCheck: CheckMaker
  /** Tools of the previous list, by name. */
  previousTools: ReadonlyMap<string, ServerTool>
  /** True when a call repeats annotated arguments in HTTP headers. */
  mirrorsArguments: boolean
}

/** Validates a listed tool. Undefined for a listing without a name; the object from `previousTools` when nothing has changed. */
export function toServerTool(listed: unknown, { makeCheck, previousTools, mirrorsArguments }: ServerToolOptions): ServerTool | undefined {
  if (!isObject(listed) || typeof listed['name'] !== 'string') return undefined
  const name = toLine(listed['name'], limits.nameCharacters)
  if (name === '') return undefined
  const { inputSchema, annotations, execution } = listed
  const description = toPlain(typeof listed['description'] === 'string' ? listed['description'] : '', limits.descriptionCharacters)
  const digest = hash('sha256', toStableJson([listed['description'], inputSchema, annotations, execution])).slice(0, 16)
  const previousTool = previousTools.get(name)
  if (previousTool?.hash === digest) return previousTool
  const traits = {
    name,
    description: description || `The tool ${name} of the server.`,
    readsOnly: isObject(annotations) && annotations['readOnlyHint'] === true,
    ...(isObject(annotations) && annotations['openWorldHint'] === false && { closedWorld: true as const }),
    listed: listed as unknown as ListedTool,
    hash: digest,
  }
  try {
    if (name !== listed['name']) throw new Error('its name is too long or contains characters that are not allowed')
    if (isObject(execution) && execution['taskSupport'] === 'required') throw new Error('it can only run as a task, which is not supported')
    assertBounded(inputSchema)
    const fault = mirrorsArguments ? headerFault(inputSchema) : undefined
    if (fault !== undefined) throw new Error(fault)
    const schema = toSchema(inputSchema as Record<string, unknown>)
    return { ...traits, schema, check: makeCheck(schema) }
  } catch (error) {
    const fault = `The tool cannot be used: ${toLine((error as Error).message, 300)}.`
    return { ...traits, schema: { type: 'object' }, check: () => fault, fault }
  }
}

/** Keywords whose values are data, not text of the schema, and stay unchanged. */
const valueKeywords: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples'])

/** Descriptions in the schema are cleaned like the description of the tool, because the model reads both. */
function toSchema(schema: Readonly<Record<string, unknown>>): JsonSchema {
  return { ...(withPlainText(schema) as JsonSchema), type: 'object' }
}

function withPlainText(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withPlainText)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (valueKeywords.has(key)) return [key, inner]
      const isText = typeof inner === 'string' && (key === 'description' || key === 'title')
      return [key, isText ? toPlain(inner, limits.descriptionCharacters) : withPlainText(inner)]
    }),
  )
}

function assertBounded(schema: unknown): void {
  if (!isObject(schema)) throw new Error('it has no input schema')
  if (schema['type'] !== undefined && schema['type'] !== 'object') throw new Error('its input schema is not of type object')
  if (isDeeper(schema, limits.schemaDepth)) throw new Error('its input schema is nested too deeply')
  if (JSON.stringify(schema).length > limits.schemaCharacters) throw new Error('its input schema is too large')
  if (hasForeignReference(schema)) throw new Error('its input schema refers to another document')
}

function hasForeignReference(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([key, inner]) => (key === '$ref' && typeof inner === 'string' && !inner.startsWith('#')) || hasForeignReference(inner),
  )
}

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
function headerFault(schema: unknown): string | undefined {
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
  const properties = fieldsOf(schema['properties'])
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

/** Creates a `Tool.check` for an untrusted schema. Throws the reason, as a clause, when the schema cannot be used. */
type CheckMaker = (schema: JsonSchema) => (input: unknown) => string | undefined

export function createCheckMaker(): CheckMaker {
  const compileGuarded = createGuardedCompiler(limits)

  function compile(schema: JsonSchema): GuardedCheck {
    try {
      return compileGuarded(schema)
    } catch (error) {
      if (error instanceof SchemaTimeout) throw new Error('its input schema takes too long to compile', { cause: error })
      throw new Error(`its input schema cannot be used: ${messageOf(error)}`, { cause: error })
    }
  }

  return (schema) => {
    const check = compile(schema)
    return (input) => {
      try {
        const errors = check(input)
        return errors && describeSchemaError(errors[0])
      } catch (error) {
        if (!(error instanceof SchemaTimeout)) throw error
        return `the input could not be checked within ${limits.checkMs} ms`
      }
    }
  }
}
