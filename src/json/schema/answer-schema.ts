import { hash } from 'node:crypto'
import { isDeeper, isObject } from '../shape.ts'
import { toRegExp } from './ajv.ts'
import {
  createGuardedCompiler,
  SchemaTimeout,
  UnusableSchema,
  within,
  type GuardedCheck,
  type GuardLimits,
  type Schema,
  KeptChecks,
} from './guarded-compiler.ts'
import {
  findEndlessCheck,
  hasFiniteValue,
  createResolve,
  named,
  nodesOf,
  referenceKeywords,
  type SchemaNode,
  type SchemaPath,
} from './schema-nodes.ts'
import type { ErrorObject } from 'ajv'

/** Checks of a caller's schema for answers, and of values against the schema. */

/** Limits of a schema for answers. */
export const schemaLimits = {
  /** Bytes of the schema as JSON. */
  bytes: 65_536,
  /** Nesting of the schema's JSON. */
  depth: 64,
  /** Properties of all objects in the schema together. */
  properties: 1000,
  compileMs: 1000,
  checkMs: 250,
} as const

/** The fault of a schema: the path to the faulty part, and a clause about this part. */
export interface SchemaFault {
  path: SchemaPath
  msg: string
}

type CompiledSchema = { kind: 'faulty'; fault: SchemaFault } | { kind: 'usable'; findFirst: GuardedCheck; findAll(): GuardedCheck }

/** Checks of schemas for answers within time limits. All throw `SchemaTimeout`. */
interface AnswerSchemas {
  /** The first fault of a schema; undefined for a usable one. */
  faultOf(schema: unknown): SchemaFault | undefined
  /** The faults of a value as clauses, such as `/items/0/price must be number`; empty for a valid value. */
  faultsOf(schema: Schema, value: unknown): string[]
}

/** Faults of a value that are named; a longer list helps neither a model nor a reader. */
const maxFaults = 8

/** Characters that a kept fault counts for. */
const faultCharacters = 1024

export function createAnswerSchemas(limits: GuardLimits): AnswerSchemas {
  const compileFirst = createGuardedCompiler(limits)
  const compileAll = createGuardedCompiler(limits, { allErrors: true })
  /** By the hash of the schema's text. */
  const compiledSchemas = new KeptChecks<CompiledSchema>()

  function compiled(schema: Schema): CompiledSchema {
    const text = JSON.stringify(schema)
    const key = hash('sha256', text)
    const known = compiledSchemas.find(key)
    if (known) return known
    const result = compile(schema, text)
    // A compiled schema has two validators; of a faulty one only the fault is kept.
    return compiledSchemas.keep(key, result, result.kind === 'usable' ? 2 * text.length : faultCharacters)
  }

  function compile(schema: Schema, text: string): CompiledSchema {
    const fault = within(
      limits.compileMs,
      () => text,
      (schemaText) => findFault(schema, schemaText),
    )
    if (fault) return { kind: 'faulty', fault }
    try {
      let all: GuardedCheck | undefined
      return { kind: 'usable', findFirst: compileFirst(schema), findAll: () => (all ??= compileAll(schema)) }
    } catch (error) {
      if (!(error instanceof UnusableSchema)) throw error
      return { kind: 'faulty', fault: toFault(error) }
    }
  }

  return {
    faultOf(schema) {
      if (!isObject(schema)) return { path: [], msg: 'must be object' }
      const result = compiled(schema)
      return result.kind === 'faulty' ? result.fault : undefined
    },
    faultsOf(schema, value) {
      const result = compiled(schema)
      if (result.kind === 'faulty') return [`the schema ${result.fault.msg}`]
      const first = result.findFirst(value)
      if (!first) return []
      const errors = hasFewValues(value) ? (result.findAll()(value) ?? first) : first
      return [...new Set(errors.slice(0, maxFaults).map(describe))]
    },
  }
}

const schemas = createAnswerSchemas(schemaLimits)

/** Returns the first fault of a schema for answers; undefined for a usable schema. Blocks for up to `schemaLimits.compileMs`. */
export function faultOfSchema(schema: unknown): SchemaFault | undefined {
  try {
    return schemas.faultOf(schema)
  } catch (error) {
    if (error instanceof SchemaTimeout) return { path: [], msg: 'takes too long to compile' }
    throw error
  }
}

/** Returns the faults of a value, as `AnswerSchemas` does. Blocks for up to `schemaLimits.checkMs`. */
export function faultsOfValue(schema: Schema, value: unknown): string[] {
  try {
    return schemas.faultsOf(schema, value)
  } catch (error) {
    if (error instanceof SchemaTimeout) return [`the value could not be checked within ${schemaLimits.checkMs} ms`]
    throw error
  }
}

function toFault(error: UnusableSchema): SchemaFault {
  const [first] = error.errors.toSorted((a, b) => b.instancePath.length - a.instancePath.length)
  if (!first) return { path: [], msg: `cannot be used: ${error.message}` }
  return { path: toPath(first.instancePath), msg: clauseOf(first) }
}

function findFault(schema: Schema, text: string): SchemaFault | undefined {
  const bytes = Buffer.byteLength(text)
  if (bytes > schemaLimits.bytes) return { path: [], msg: `must have at most ${schemaLimits.bytes} bytes, but has ${bytes}` }
  if (isDeeper(schema, schemaLimits.depth)) return { path: [], msg: `must be nested at most ${schemaLimits.depth} levels deep` }
  const nodes = nodesOf(schema)
  const properties = nodes.reduce((sum, node) => sum + Object.keys(named(node.schema, 'properties')).length, 0)
  if (properties > schemaLimits.properties)
    return { path: [], msg: `must have at most ${schemaLimits.properties} properties, but has ${properties}` }
  return nodes.map(findFaultOfNode).find((fault) => fault !== undefined) ?? findFaultOfReferences(schema, nodes)
}

function findFaultOfNode({ path, schema }: SchemaNode): SchemaFault | undefined {
  const { $id } = schema
  if (path.length > 0 && typeof $id === 'string' && !$id.startsWith('#'))
    return { path: [...path, '$id'], msg: 'is supported only at the top of the schema' }
  for (const keyword of referenceKeywords) {
    const reference = schema[keyword]
    if (typeof reference === 'string' && !reference.startsWith('#'))
      return { path: [...path, keyword], msg: 'must point into the schema itself, with "#" at the beginning' }
  }
  const patterns: [SchemaPath, unknown][] = [
    [['pattern'], schema['pattern']],
    ...Object.keys(named(schema, 'patternProperties')).map((key): [SchemaPath, unknown] => [['patternProperties', key], key]),
  ]
  const broken = patterns.find(([, pattern]) => typeof pattern === 'string' && !isRegExp(pattern))
  return broken && { path: [...path, ...broken[0]], msg: 'is not a regular expression' }
}

function isRegExp(pattern: string): boolean {
  try {
    return toRegExp(pattern) instanceof RegExp
  } catch {
    return false
  }
}

function findFaultOfReferences(schema: Schema, nodes: readonly SchemaNode[]): SchemaFault | undefined {
  const resolve = createResolve(nodes)
  for (const { path, schema: inner } of nodes) {
    const keyword = referenceKeywords.find((name) => typeof inner[name] === 'string' && !resolve(inner[name]))
    if (keyword) return { path: [...path, keyword], msg: 'points to no schema' }
  }
  const circle = findEndlessCheck(nodes, resolve)
  if (circle) return { path: circle.path, msg: 'refers to itself without end' }
  return hasFiniteValue(schema, nodes, resolve) ? undefined : { path: [], msg: 'has no finite value: it requires itself without end' }
}

/** Values up to which all faults are searched: each fault costs memory. */
const maxValuesForAllFaults = 10_000

function hasFewValues(value: unknown): boolean {
  let count = 0
  const isFew = (inner: unknown): boolean =>
    ++count <= maxValuesForAllFaults && (typeof inner !== 'object' || inner === null || Object.values(inner).every(isFew))
  return isFew(value)
}

/** What Ajv found, in words. */

/** Characters of one fault: a list of permitted values may be as long as the schema, and the model reads each fault. */
const maxFaultCharacters = 500

/** The fault as a clause with its place, such as `/items/0/price must be number`. */
function describe(error: ErrorObject): string {
  const text = `${error.instancePath || 'the value'} ${clauseOf(error)}`
  return text.length > maxFaultCharacters ? `${text.slice(0, maxFaultCharacters).toWellFormed()}… [cut]` : text
}

/** The fault as a clause about the faulty part. */
function clauseOf({ keyword, params, message }: ErrorObject): string {
  if (keyword === 'additionalProperties') return `must not have the property ${JSON.stringify(params['additionalProperty'])}`
  if (keyword === 'unevaluatedProperties') return `must not have the property ${JSON.stringify(params['unevaluatedProperty'])}`
  if (keyword === 'enum') return `must be one of ${JSON.stringify(params['allowedValues'])}`
  if (keyword === 'const') return `must be ${JSON.stringify(params['allowedValue'])}`
  return message ?? 'does not fit'
}

/** The steps of a JSON Pointer (RFC 6901); an index becomes a number. */
function toPath(pointer: string): SchemaPath {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step.replaceAll('~1', '/').replaceAll('~0', '~')))
}
